/* A host that blocks every signal and waits for them: none comes but those that it sends itself, and none is pending.
 * With "number" it makes these calls by syscall(2). With "in_waits" signals may come only while it waits: it is
 * interrupted by its own. With "exec" it replaces its image meanwhile: what is pending then reaches the next one, which
 * has no handler. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "host.h"

static void nothing_is_pending(void) {
    sigset_t pending;
    CHECK(sigpending(&pending) == 0 && sigisemptyset(&pending));
}

static NOINLINE void* blocked_work(void* unused) {
    work_ms(120);
    nothing_is_pending();
    return unused;
}

static void unblock_after_exec(void) {
    sigset_t all;
    sigfillset(&all);
    nothing_is_pending();
    CHECK(sigprocmask(SIG_UNBLOCK, &all, NULL) == 0);
    puts("nothing came");
}

static int replace(const char* self) {
    sigset_t all;
    sigfillset(&all);
    CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    work_ms(100);
    CHECK(execl("/nowhere", "nowhere", NULL) == -1 && errno == ENOENT);
    work_ms(100);
    char* const nothing[] = {NULL}; /* so that the next image has no handler of a profiler's either */
    execle(self, self, "after", NULL, nothing);
    return 1;
}

static void* take_signal(void* set) {
    return sigtimedwait(set, NULL, &(struct timespec){1, 0}) == SIGPROF ? set : NULL;
}

/* One that an engine would sample with comes when the host itself sends it, and is pending then. */
static void own_signal_comes(void) {
    sigset_t own, pending;
    sigemptyset(&own);
    sigaddset(&own, SIGPROF);
    CHECK(pthread_sigmask(SIG_BLOCK, &own, NULL) == 0);
    kill(getpid(), SIGPROF);
    work_ms(20);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 1);
    CHECK(sigtimedwait(&own, NULL, &(struct timespec){0, 0}) == SIGPROF);
    /* It is the process's: any thread may take it. */
    pthread_t thread;
    void* taken = NULL;
    kill(getpid(), SIGPROF);
    work_ms(20);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPROF) == 1);
    CHECK(pthread_create(&thread, NULL, take_signal, &own) == 0 && pthread_join(thread, &taken) == 0 && taken == &own);
    work_ms(20);
    struct pollfd descriptor = {.fd = signalfd(-1, &own, 0), .events = POLLIN};
    work_ms(50);
    CHECK(poll(&descriptor, 1, 0) == 0);
    kill(getpid(), SIGPROF);
    CHECK(poll(&descriptor, 1, 10000) == 1);
    CHECK(sigtimedwait(&own, NULL, &(struct timespec){0, 0}) == SIGPROF);
    close(descriptor.fd);
}

static int by_number;
static int signals_descriptor(const sigset_t* set) {
    return by_number ? (int)syscall(SYS_signalfd4, -1, set, 8L, SFD_CLOEXEC) : signalfd(-1, set, SFD_CLOEXEC);
}
static int wait_for(const sigset_t* set, siginfo_t* info, const struct timespec* limit) {
    return by_number ? (int)syscall(SYS_rt_sigtimedwait, set, info, limit, 8L) : sigtimedwait(set, info, limit);
}

/* What only the kernel can answer. */
static void wrong_arguments(const sigset_t* set) {
    CHECK(syscall(SYS_signalfd4, -1, set, 4L, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_signalfd4, -1, NULL, 8L, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigtimedwait, (void*)8, NULL, NULL, 8L) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigtimedwait, set, NULL, NULL, 128L) == -1 && errno == EINVAL);
}

static void bad_pointers(const sigset_t* set) {
    const sigset_t* const nowhere = (const sigset_t*)8;
    const struct timespec* const never = (const struct timespec*)8;
    struct epoll_event event;
    CHECK(signalfd(-1, nowhere, 0) == -1 && errno == EFAULT);
    CHECK(sigtimedwait(nowhere, NULL, NULL) == -1 && errno == EFAULT);
    CHECK(wait_for(set, NULL, never) == -1 && errno == EFAULT);
    /* Only its first half can be read. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* const pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    CHECK(wait_for(set, NULL, (const void*)(pages + page - 8)) == -1 && errno == EFAULT);
    CHECK(ppoll(NULL, 0, &(struct timespec){0, 0}, nowhere) == -1 && errno == EFAULT);
    CHECK(pselect(0, NULL, NULL, NULL, &(struct timespec){0, 0}, nowhere) == -1 && errno == EFAULT);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll_pwait(epoll, &event, 1, 0, nowhere) == -1 && errno == EFAULT);
    CHECK(sigsuspend(nowhere) == -1 && errno == EFAULT);
}

static void blocks_all(void) {
    sigset_t all;
    pthread_t thread;
    siginfo_t info;
    int number = 0;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, blocked_work, NULL) == 0);
    const int descriptor = signals_descriptor(&all);
    for (int round = 0; round < 25; ++round) {
        work_ms(5);
        if (!by_number) nothing_is_pending();
        CHECK(poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, 0) == 0);
        CHECK(wait_for(&all, &info, &(struct timespec){0, 0}) == -1 && errno == EAGAIN);
        raise(SIGUSR1);
        work_ms(2);
        CHECK(by_number ? wait_for(&all, NULL, NULL) == SIGUSR1 : sigwait(&all, &number) == 0 && number == SIGUSR1);
        raise(SIGUSR2);
        CHECK((by_number ? wait_for(&all, &info, NULL) : sigwaitinfo(&all, &info)) == SIGUSR2);
        CHECK(info.si_signo == SIGUSR2);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    if (by_number) wrong_arguments(&all);
    bad_pointers(&all);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int number) {
    (void)number;
    ++alarms;
}

/* A signal that an engine would sample with, and that was pending when the host's handler came, is not the handler's.
 */
static void handler_comes(void) {
    const struct sigaction action = {.sa_handler = on_alarm};
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGPROF);
    CHECK(pthread_sigmask(SIG_BLOCK, &own, NULL) == 0);
    work_ms(20);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0 && pthread_sigmask(SIG_UNBLOCK, &own, NULL) == 0);
    work_ms(20);
    CHECK(alarms == 0 && kill(getpid(), SIGPROF) == 0 && alarms == 1);
    alarms = 0;
}

/* The time that passes between its waits is CPU time. */
static void in_waits(void) {
    const struct itimerval soon = {{0, 0}, {0, 30000}};
    const struct timespec brief = {0, 1000000};
    const struct sigaction action = {.sa_handler = on_alarm};
    struct epoll_event event;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int round = 0; round < 10; ++round) {
        work_ms(6);
        CHECK(ppoll(NULL, 0, &brief, &none) == 0);
        work_ms(6);
        CHECK(pselect(0, NULL, NULL, NULL, &brief, &none) == 0);
        work_ms(6);
        CHECK(epoll_pwait(epoll, &event, 1, 1, &none) == 0);
        work_ms(6);
        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        CHECK(sigsuspend(&none) == -1 && errno == EINTR && alarms == 2 * round + 1);
        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        work_ms(6);
        CHECK(ppoll(NULL, 0, NULL, &none) == -1 && errno == EINTR && alarms == 2 * round + 2);
    }
}

int main(int argc, char** argv) {
    const char* const mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "exec") == 0) return replace(argv[0]);
    if (strcmp(mode, "after") == 0) return unblock_after_exec(), 0;
    strcmp(mode, "handler") == 0 ? handler_comes() : own_signal_comes();
    by_number = strcmp(mode, "number") == 0;
    if (strcmp(mode, "in_waits") == 0)
        in_waits();
    else
        blocks_all();
    puts("no signal but its own");
    return 0;
}

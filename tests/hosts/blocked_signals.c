/* A host that blocks every signal and waits for them: none comes but those that it sends itself, and none is pending.
 * With "exec" it replaces its image meanwhile: what is pending then reaches the next one, which has no handler. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

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
    struct pollfd descriptor = {.fd = signalfd(-1, &own, 0), .events = POLLIN};
    work_ms(50);
    CHECK(poll(&descriptor, 1, 0) == 0);
    kill(getpid(), SIGPROF);
    CHECK(poll(&descriptor, 1, 10000) == 1);
    CHECK(sigtimedwait(&own, NULL, &(struct timespec){0, 0}) == SIGPROF);
    close(descriptor.fd);
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "exec") == 0) return replace(argv[0]);
    if (argc > 1) return unblock_after_exec(), 0;
    own_signal_comes();
    sigset_t all;
    pthread_t thread;
    siginfo_t info;
    int number = 0;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, blocked_work, NULL) == 0);
    const int descriptor = signalfd(-1, &all, 0);
    for (int round = 0; round < 25; ++round) {
        work_ms(5);
        nothing_is_pending();
        CHECK(poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, 0) == 0);
        CHECK(sigtimedwait(&all, &info, &(struct timespec){0, 0}) == -1 && errno == EAGAIN);
        raise(SIGUSR1);
        work_ms(2);
        CHECK(sigwait(&all, &number) == 0 && number == SIGUSR1);
        raise(SIGUSR2);
        CHECK(sigwaitinfo(&all, &info) == SIGUSR2);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    puts("no signal but its own");
    return 0;
}

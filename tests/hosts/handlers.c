/* A host that looks after its own signals: every disposition and mask is as it set it, and as it was before. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "host.h"

static volatile sig_atomic_t caught[65];
static void count(int number) { ++caught[number]; }
static void child_only(int number) { caught[number] = -100; }

static void default_everywhere(void) {
    for (int number = 1; number < 65; ++number) {
        struct sigaction action;
        if (number == 32 || number == 33) continue; /* glibc's own */
        CHECK(sigaction(number, NULL, &action) == 0);
        CHECK(action.sa_handler == SIG_DFL);
    }
}

static void nothing_blocked(void) {
    sigset_t set;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
    for (int number = 1; number < 65; ++number) CHECK(sigismember(&set, number) != 1);
}

/* What a child of vfork sets is its own, though its parent's memory is. */
static void in_vfork_child(void) {
    struct sigaction mine = {.sa_handler = count, .sa_flags = SA_ONSTACK}, after;
    struct sigaction standard = {.sa_handler = SIG_DFL, .sa_flags = SA_RESTART};
    sigaddset(&standard.sa_mask, SIGUSR2);
    CHECK(sigaction(SIGUSR1, &mine, NULL) == 0 && sigaction(SIGTERM, &standard, NULL) == 0);
    const pid_t child = vfork();
    if (child == 0) {
        struct sigaction told, childs = {.sa_handler = child_only, .sa_flags = SA_ONSTACK};
        int wrong = sigaction(SIGUSR1, NULL, &told) != 0 || told.sa_handler != count;
        wrong |= sigaction(SIGTERM, NULL, &told) != 0 || told.sa_handler != SIG_DFL ||
                 sigismember(&told.sa_mask, SIGUSR2) != 1;
        wrong |= sigaction(SIGUSR1, &childs, NULL) != 0 || sigaction(SIGUSR1, NULL, &told) != 0 ||
                 told.sa_handler != child_only;
        for (int number = 1; number < 65; ++number) signal(number, SIG_DFL);
        _exit(wrong);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(sigaction(SIGTERM, NULL, &after) == 0);
    CHECK(after.sa_handler == SIG_DFL && (after.sa_flags & SA_RESTART) && sigismember(&after.sa_mask, SIGUSR2) == 1);
    CHECK(raise(SIGUSR1) == 0 && caught[SIGUSR1] == 2);
    CHECK(signal(SIGUSR1, SIG_DFL) == count && signal(SIGTERM, SIG_DFL) == SIG_DFL);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The older ways to set a handler tell and do what they always did. */
static void older_ways(void) {
    const struct itimerval soon = {{0, 0}, {0, 30000}};
    int ends[2];
    char byte;
    caught[SIGTERM] = caught[SIGALRM] = 0;
    CHECK(sigset(SIGTERM, count) == SIG_DFL && sigset(SIGTERM, SIG_HOLD) == count);
    CHECK(raise(SIGTERM) == 0 && caught[SIGTERM] == 0);
    CHECK(sigset(SIGTERM, count) == SIG_HOLD && caught[SIGTERM] == 1);
    CHECK(sigset(SIGTERM, SIG_DFL) == count && sigset(SIGTERM, SIG_DFL) == SIG_DFL);
    CHECK(sigset(SIGKILL, count) == SIG_ERR && errno == EINVAL && sigset(70, count) == SIG_ERR && errno == EINVAL);
    /* What a signal does to a call holds for handlers that are set later. */
    CHECK(siginterrupt(SIGALRM, 1) == 0 && signal(SIGALRM, count) == SIG_DFL && pipe(ends) == 0);
    CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    CHECK(read(ends[0], &byte, 1) == -1 && errno == EINTR && caught[SIGALRM] == 1);
    CHECK(siginterrupt(SIGALRM, 0) == 0 && signal(SIGALRM, SIG_DFL) == count);
    close(ends[0]), close(ends[1]);
}

/* Past libc's sigaction, as sandboxes and crash reporters call it. */
struct kernels_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};
static void by_number(void) {
    struct kernels_action action = {0}, before, ours;
    work_ms(30);
    for (int number = 1; number < 65; ++number) {
        if (number == SIGKILL || number == SIGSTOP || number == 32 || number == 33) continue;
        CHECK(syscall(SYS_rt_sigaction, number, NULL, &before, 8L) == 0 && before.handler == SIG_DFL);
        CHECK(syscall(SYS_rt_sigaction, number, &action, &before, 8L) == 0 && before.handler == SIG_DFL);
    }
    work_ms(60);
    CHECK(signal(SIGUSR1, count) == SIG_DFL && signal(SIGPROF, count) == SIG_DFL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &ours, 8L) == 0 && ours.handler == count);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 8L) == 0);
    ours.mask = 1UL << (SIGUSR2 - 1);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &ours, &before, 8L) == 0 && before.handler == SIG_DFL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &before, 8L) == 0 && before.handler == count &&
          before.flags == ours.flags && before.restorer == ours.restorer && before.mask == ours.mask);
    caught[SIGUSR1] = caught[SIGPROF] = 0;
    work_ms(30);
    CHECK(raise(SIGUSR1) == 0 && raise(SIGPROF) == 0 && caught[SIGUSR1] == 1 && caught[SIGPROF] == 1);
    CHECK(syscall(SYS_rt_sigaction, 65, &action, NULL, 8L) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, SIGKILL, &action, NULL, 8L) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, (void*)8, NULL, 8L) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, 4L) == -1 && errno == EINVAL);
    CHECK(signal(SIGUSR1, SIG_DFL) == count && signal(SIGPROF, SIG_DFL) == count);
}

/* HAProxy sets an action for 0 too, which is no signal. */
static NOINLINE void work_after_none(void) {
    CHECK(signal(0, count) == SIG_ERR && errno == EINVAL);
    work_ms(60);
    __asm__ volatile("");
}

int main(void) {
    static const int mine[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGSEGV, SIGALRM};
    default_everywhere();
    work_after_none();
    nothing_blocked();
    for (size_t i = 0; i < sizeof mine / sizeof *mine; ++i) {
        struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART}, before, after;
        sigaddset(&action.sa_mask, SIGUSR2);
        CHECK(sigaction(mine[i], &action, &before) == 0);
        CHECK(before.sa_handler == SIG_DFL);
        CHECK(sigaction(mine[i], NULL, &after) == 0);
        CHECK(after.sa_handler == count && (after.sa_flags & SA_RESTART) && sigismember(&after.sa_mask, SIGUSR2) == 1);
        work_ms(10);
        CHECK(raise(mine[i]) == 0);
        CHECK(caught[mine[i]] == 1);
    }
    for (size_t i = 0; i < sizeof mine / sizeof *mine; ++i) {
        CHECK(signal(mine[i], SIG_DFL) == count);
        CHECK(signal(mine[i], SIG_IGN) == SIG_DFL);
        CHECK(raise(mine[i]) == 0); /* ignored: we live */
        CHECK(signal(mine[i], SIG_DFL) == SIG_IGN);
    }
    default_everywhere();
    older_ways();
    default_everywhere();
    in_vfork_child();
    by_number();
    default_everywhere();

    /* SA_RESETHAND and a second signal: the default action takes over, in a child. */
    const pid_t child = fork();
    if (child == 0) {
        struct sigaction once = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND};
        CHECK(sigaction(SIGTERM, &once, NULL) == 0);
        work_ms(20);
        raise(SIGTERM);
        CHECK(caught[SIGTERM] == 2);
        raise(SIGTERM);
        _exit(1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    printf("handlers kept\n");
    return 0;
}

/* A host that blocks every signal and waits for them: none comes but those that it sends itself, and none is pending.
 */
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

int main(void) {
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

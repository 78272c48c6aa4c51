/* A host with a profiler of its own: SIGPROF and ITIMER_PROF stay its own. */
#include <signal.h>
#include <sys/time.h>

#include "host.h"

static volatile sig_atomic_t ticks;
static void tick(int number, siginfo_t* info, void* context) {
    (void)number, (void)context;
    if (info->si_code == SI_KERNEL)
        ++ticks; /* what ITIMER_PROF sends */
    else
        ticks += 1000000; /* a signal that this program did not ask for */
}

int main(void) {
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART}, found;
    const struct itimerval every = {{0, 20000}, {0, 20000}};
    struct itimerval armed;
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
    work_ms(500);
    for (int more = 0; more < 20 && ticks < 10; ++more) work_ms(500); /* an emulated CPU misses most */
    CHECK(sigaction(SIGPROF, NULL, &found) == 0);
    CHECK(found.sa_sigaction == tick);
    CHECK(getitimer(ITIMER_PROF, &armed) == 0);
    CHECK(armed.it_interval.tv_usec == 20000);
    CHECK(setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL) == 0);
    /* 25 by the clock; the timer also counts the time of other threads of the process and of the kernel. */
    CHECK(ticks >= 10);
    CHECK(ticks < 1000);
    printf("own SIGPROF kept\n");
    return 0;
}

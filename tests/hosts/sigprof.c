/* A host with a profiler of its own: SIGPROF and ITIMER_PROF stay its own. sigprof libc: with that of libc, as in
   programs of gcc -pg. */
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

/* Its counters are no more than its CPU time, also before the engine could notice. */
static int use_libcs(void) {
    static unsigned short counts[1 << 16];
    unsigned short* volatile nothing = NULL;
    const unsigned one_to_one = 65536;
    struct timespec used;
    double ms = 0;
    CHECK(profil(counts, sizeof counts, (size_t)(unsigned long)crunch & ~4095UL, one_to_one) == 0);
    work_ms(100);
    CHECK(profil(nothing, 0, 0, 0) == 0);
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) ms += 10 * counts[i];
    CHECK(ms < 50 + 1e3 * used.tv_sec + 1e-6 * used.tv_nsec); /* its ticks are ten milliseconds */
    work_ms(50);
    printf("libc's profiler kept\n");
    return 0;
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "libc") == 0) return use_libcs();
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

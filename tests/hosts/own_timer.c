/* A host with a fast timer of its own, as a game loop or a virtual machine has: own_timer KIND SIGNAL HZ, where KIND is
   a clock of timer_create or a timer of setitimer. It works, prints a line and returns from main while the timer goes
   on. */
#include <signal.h>
#include <sys/time.h>

#include "host.h"

static volatile sig_atomic_t ticks;

static void tick(int number) {
    (void)number;
    ++ticks;
}

static void by_setitimer(int which, long ns) {
    const struct itimerval often = {{0, ns / 1000}, {0, ns / 1000}};
    CHECK(setitimer(which, &often, NULL) == 0);
}

static void by_timer_create(clockid_t clock, int number, long ns) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    const struct itimerspec often = {{0, ns}, {0, ns}};
    timer_t timer;
    CHECK(timer_create(clock, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &often, NULL) == 0);
}

int main(int argc, char** argv) {
    CHECK(argc == 4);
    const char* const kind = argv[1];
    const int number = atoi(argv[2]);
    const long ns = 1000000000L / atol(argv[3]);
    /* Without SA_RESTART: each of its own calls ends too. */
    const struct sigaction action = {.sa_handler = tick};
    CHECK(sigaction(number, &action, NULL) == 0);
    if (strcmp(kind, "real") == 0)
        by_setitimer(ITIMER_REAL, ns);
    else if (strcmp(kind, "virtual") == 0)
        by_setitimer(ITIMER_VIRTUAL, ns);
    else if (strcmp(kind, "prof") == 0)
        by_setitimer(ITIMER_PROF, ns);
    else if (strcmp(kind, "cpu") == 0)
        by_timer_create(CLOCK_PROCESS_CPUTIME_ID, number, ns);
    else if (strcmp(kind, "realtime") == 0)
        by_timer_create(CLOCK_REALTIME, number, ns);
    else
        by_timer_create(CLOCK_MONOTONIC, number, ns);
    work_ms(150);
    CHECK(ticks > 5);
    puts("worked beside a timer");
    return 0;
}

/* What an interrupt must leave alone: errno, floating point control and state, and callee-saved registers, watched by
   three threads that do nothing else. registers traps: with each floating point exception a trap, as in Fortran's
   programs. 77 where there are no such traps. */
#include <fenv.h>
#include <pthread.h>
#include <sys/wait.h>

#include "host.h"

static void* watch_errno(void* unused) {
    for (double end = cpu_ms() + 90; cpu_ms() < end;) {
        for (int i = 1; i < 2000; ++i) {
            errno = i;
            crunch(50);
            CHECK(errno == i);
        }
    }
    return unused;
}

static void* watch_rounding(void* unused) {
    CHECK(fesetround(FE_UPWARD) == 0);
    for (double end = cpu_ms() + 90; cpu_ms() < end;) {
        crunch(20000);
        CHECK(fegetround() == FE_UPWARD);
    }
    return unused;
}

static void* watch_sums(void* unused) {
    for (double end = cpu_ms() + 90; cpu_ms() < end;) {
        double sum = 0;
        for (int i = 1; i <= 20000; ++i) {
            sum += i;
            __asm__ volatile("" : "+x"(sum));
        }
        CHECK(sum == 200010000.0);
    }
    return unused;
}

/* A child, and threads of its own, begin with the modes of the thread that makes them. */
static int trap_in_children(void) {
    if (feenableexcept(FE_ALL_EXCEPT) == -1) return 77;
    int status = 1;
    const pid_t child = fork();
    crunch(100000000);
    if (child == 0) _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    printf("no trap\n");
    return 0;
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "traps") == 0) return trap_in_children();
    void* (*const watches[])(void*) = {watch_errno, watch_rounding, watch_sums};
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, watches[i], NULL) == 0);
    for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    printf("state kept\n");
    return 0;
}

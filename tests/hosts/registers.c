/* What an interrupt must leave alone: errno, floating point control and state, and callee-saved registers, watched by
   three threads that do nothing else. */
#include <fenv.h>
#include <pthread.h>

#include "host.h"

static void* watch_errno(void* unused) {
    for (double end = cpu_ms() + part_of(90); cpu_ms() < end;) {
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
    for (double end = cpu_ms() + part_of(90); cpu_ms() < end;) {
        crunch(20000);
        CHECK(fegetround() == FE_UPWARD);
    }
    return unused;
}

static void* watch_sums(void* unused) {
    for (double end = cpu_ms() + part_of(90); cpu_ms() < end;) {
        double sum = 0;
        for (int i = 1; i <= 20000; ++i) {
            sum += i;
            __asm__ volatile("" : "+x"(sum));
        }
        CHECK(sum == 200010000.0);
    }
    return unused;
}

int main(void) {
    void* (*const watches[])(void*) = {watch_errno, watch_rounding, watch_sums};
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, watches[i], NULL) == 0);
    for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    printf("state kept\n");
    return 0;
}

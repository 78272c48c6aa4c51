/* threads COUNT: makes and joins COUNT threads, one after the other, that do nothing. Prints the median time of
   pthread_create, and of pthread_create and pthread_join together, in nanoseconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void* nothing(void* argument) { return argument; }

static int by_size(const void* first, const void* second) {
    const long a = *(const long*)first, b = *(const long*)second;
    return (a > b) - (a < b);
}

static long median(long* values, long count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

int main(int argc, char** argv) {
    const long count = argc > 1 ? atol(argv[1]) : 10000;
    long* const made = malloc((size_t)count * sizeof *made);
    long* const ended = malloc((size_t)count * sizeof *ended);
    if (count < 1 || made == NULL || ended == NULL) return 2;
    for (long i = 0; i < count; ++i) {
        pthread_t thread;
        const long begun = now();
        if (pthread_create(&thread, NULL, nothing, NULL) != 0) return 1;
        made[i] = now() - begun;
        pthread_join(thread, NULL);
        ended[i] = now() - begun;
    }
    printf("%ld %ld\n", median(made, count), median(ended, count));
    return 0;
}

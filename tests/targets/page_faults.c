// page-faults SECONDS: first uses of new pages by touch_seldom, and three times as many by touch_often, at random;
// between them user code and short sleeps. Prints how many pages each has touched.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void touch_seldom(char* page) { *page = 1; }
__attribute__((noinline)) static void touch_often(char* page) { *page = 2; }

__attribute__((noinline)) static void user_work(int times) {
    for (int i = 0; i < times; i++) sink = sink * 31 + (unsigned long)i;
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    const long page = sysconf(_SC_PAGESIZE), pages = 1024;
    const struct timespec pause = {0, 1000000};
    unsigned long random = 1, seldom = 0, often = 0;
    struct timespec used = {0};
    while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < seconds) {
        char* memory = mmap(NULL, (size_t)(pages * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) abort();
        madvise(memory, (size_t)(pages * page), MADV_NOHUGEPAGE);  // whose first use would be that of 512 pages
        for (long at = 0; at < pages; at++) {
            random = random * 6364136223846793005UL + 1442695040888963407UL;
            if (random >> 62 == 0) {
                touch_seldom(memory + at * page);
                seldom++;
            } else {
                touch_often(memory + at * page);
                often++;
            }
        }
        munmap(memory, (size_t)(pages * page));
        user_work(1000000);
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    printf("%lu %lu\n", seldom, often);
    return 0;
}

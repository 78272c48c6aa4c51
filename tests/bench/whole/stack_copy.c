/* What a perf sample costs the sampled thread, by how much stack is copied and how much there is: stack_copy [ROUNDS].
 * A loop of fixed length in the main thread, with an event of 20,000 Hz whose ring overwrites itself, which is
 * not read. In each round every case runs once; a case's time is its fastest. Printed: microseconds of CPU time a
 * sample, and what they are of the thread's time at 4,000 Hz. */
#include <alloca.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { hertz = 20000, depths = 4, copies = 8 };
static const long depth[depths] = {0, 6 << 10, 12 << 10, 80 << 10}; /* of stack, besides main's own */
static const long copy[copies] = {-1, 0, 4 << 10, 8 << 10, 12 << 10, 16 << 10, 32 << 10, 60 << 10};
static const uint64_t registers = 0x1ff; /* nine of them */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) static double work(long rounds) {
    const double begin = now();
    for (long i = 0; i < rounds; ++i) __asm__ volatile("");
    return now() - begin;
}

/* With so much more stack above it, which is there. */
__attribute__((noinline)) static double work_below(long bytes, long rounds) {
    if (bytes == 0) return work(rounds);
    char* const stack = alloca((size_t)bytes);
    memset(stack, 1, (size_t)bytes);
    __asm__ volatile("" ::"r"(stack) : "memory");
    return work(rounds);
}

/* bytes: -1: an instruction pointer alone; 0: registers too, as always. */
static int opened(long bytes) {
    struct perf_event_attr attr = {.size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
    attr.sample_period = 1000000000 / hertz;
    attr.sample_type = PERF_SAMPLE_IP;
    attr.disabled = attr.exclude_hv = attr.exclude_kernel = 1;
    if (bytes >= 0) {
        attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
        attr.sample_regs_user = registers;
    }
    if (bytes > 0) {
        attr.sample_type |= PERF_SAMPLE_STACK_USER;
        attr.sample_stack_user = (uint32_t)bytes;
    }
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static double sampled(long bytes, long below, long rounds) {
    const int event = opened(bytes);
    const long page = sysconf(_SC_PAGESIZE);
    size_t size = 4 << 20; /* as FlameProbe's at 4,000 Hz; an ordinary user's is smaller */
    void* ring = MAP_FAILED;
    for (; event >= 0 && ring == MAP_FAILED && size >= 128 << 10; size /= 2)
        ring = mmap(NULL, (size_t)page + size, PROT_READ, MAP_SHARED, event, 0);
    if (ring == MAP_FAILED || ioctl(event, PERF_EVENT_IOC_ENABLE, 0) != 0) {
        perror("stack_copy: perf event");
        exit(77); /* for meson: left out */
    }
    const double used = work_below(below, rounds);
    munmap(ring, (size_t)page + 2 * size);
    close(event);
    return used;
}

int main(int argc, char** argv) {
    const long times = argc > 1 ? atol(argv[1]) : 100;
    static double alone[depths], least[depths][copies];
    long rounds = 100000;
    while (work(rounds) < 0.005) rounds *= 2;
    for (long time = 0; time < times; ++time) {
        for (int d = 0; d < depths; ++d) {
            const double without = work_below(depth[d], rounds);
            if (time == 0 || without < alone[d]) alone[d] = without;
            for (int c = 0; c < copies; ++c) {
                const double with = sampled(copy[c], depth[d], rounds);
                if (time == 0 || with < least[d][c]) least[d][c] = with;
            }
        }
    }
    puts("| stack | ip alone | registers | 4 KiB | 8 KiB | 12 KiB | 16 KiB | 32 KiB | 60 KiB |\n|-|-|-|-|-|-|-|-|-|");
    for (int d = 0; d < depths; ++d) {
        printf(depth[d] == 0 ? "| main's own" : "| %ld KiB more", depth[d] >> 10);
        for (int c = 0; c < copies; ++c) {
            const double each = (least[d][c] - alone[d]) / (least[d][c] * hertz);
            printf(" | %.2f µs, %.2f %%", 1e6 * each, 100 * each * 4000);
        }
        puts(" |");
    }
    return 0;
}

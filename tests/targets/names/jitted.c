// As a just-in-time compiler: puts one function after the other at the same address, for as long each, and writes a
// dump of what came when. jitted DIRECTORY private|shared|memfd
// jitted forked: compiles one function, writes /tmp/perf-PID.map, and runs it in a forked child only.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, section("jitted"), aligned(4096)))
APART unsigned long template_code(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) {
        sum += i * n;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

struct header {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t timestamp, flags;
};
struct load {
    uint32_t kind, size;
    uint64_t timestamp;
    uint32_t pid, tid;
    uint64_t virtual_address, address, code_size, index;
};

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

enum { code_size = 4096 };

static char* memory_for_code(const char* kind) {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    if (strcmp(kind, "private") == 0) return mmap(NULL, code_size, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(kind, "shared") == 0) return mmap(NULL, code_size, all, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int file = memfd_create("code", 0);
    return ftruncate(file, code_size) != 0 ? MAP_FAILED : mmap(NULL, code_size, all, MAP_SHARED, file, 0);
}

static int run_in_child(void) {
    char path[64];
    char* const code = memory_for_code("private");
    if (code == MAP_FAILED || snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid()) < 0) return 1;
    memcpy(code, (const char*)(size_t)template_code, code_size);
    FILE* const map = fopen(path, "w");
    if (map == NULL || fprintf(map, "%lx %x made_before_the_fork\n", (unsigned long)(size_t)code, code_size) < 0 ||
        fclose(map) != 0)
        return 1;
    const pid_t child = fork();
    if (child == 0) {
        unsigned long sum = 0;
        const uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + 300000000;
        while (now(CLOCK_PROCESS_CPUTIME_ID) < end) sum += ((unsigned long (*)(unsigned long))(size_t)code)(300000);
        return sum == 1;
    }
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(int count, char** arguments) {
    if (count == 2 && strcmp(arguments[1], "forked") == 0) return run_in_child();
    char path[4096];
    if (count != 3 || snprintf(path, sizeof path, "%s/jit-%d.dump", arguments[1], getpid()) < 0) return 2;
    FILE* const dump = fopen(path, "w+");
    const struct header header = {0x4a695444, 1, sizeof header, 0, 0, (uint32_t)getpid(), now(CLOCK_MONOTONIC), 0};
    if (dump == NULL || fwrite(&header, sizeof header, 1, dump) != 1 || fflush(dump) != 0) return 1;
    // Profilers learn of the dump by this.
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED) return 1;
    char* const code = memory_for_code(arguments[2]);
    if (code == MAP_FAILED) return 1;
    unsigned long sum = 0;
    for (uint64_t i = 0; i < 3; i++) {
        static const char names[3][8] = {"made_a", "made_b", "made_c"};
        memcpy(code, (const char*)(size_t)template_code, code_size);
        __builtin___clear_cache(code, code + code_size);
        const struct load load = {0,
                                  sizeof load + sizeof names[i] + code_size,
                                  now(CLOCK_MONOTONIC),
                                  (uint32_t)getpid(),
                                  (uint32_t)getpid(),
                                  (uint64_t)(size_t)code,
                                  (uint64_t)(size_t)code,
                                  code_size,
                                  i};
        fwrite(&load, sizeof load, 1, dump);
        fwrite(names[i], sizeof names[i], 1, dump);
        fwrite(code, code_size, 1, dump);
        const uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + 300000000;
        while (now(CLOCK_PROCESS_CPUTIME_ID) < end) sum += ((unsigned long (*)(unsigned long))(size_t)code)(300000);
    }
    return fclose(dump) != 0 || sum == 1;
}

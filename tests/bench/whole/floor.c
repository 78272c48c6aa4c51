/* The floor under every sampling profiler: floor HZ COMMAND ARGS... runs the command with one inherited cpu-clock event
   per CPU that records the instruction pointer alone, and throws the records away. What is slower than this is the
   profiler's doing; what is not, is the kernel's timer interrupt. Ends as the command does. */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_cpus = 256, ring_pages = 16 };

static struct perf_event_mmap_page* rings[most_cpus];

static void fail(const char* what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(125);
}

static void open_rings(pid_t child, unsigned long frequency) {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const long page = sysconf(_SC_PAGESIZE);
    for (long cpu = 0; cpu < cpus && cpu < most_cpus; ++cpu) {
        struct perf_event_attr event = {
            .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK};
        event.sample_type = PERF_SAMPLE_IP;
        event.sample_period = 1000000000 / frequency;
        event.inherit = event.disabled = event.enable_on_exec = 1;
        event.exclude_kernel = getenv("FLOOR_USER_ONLY") != NULL;
        const long fd = syscall(SYS_perf_event_open, &event, child, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) fail("perf_event_open");
        void* ring = mmap(NULL, (size_t)(page * (1 + ring_pages)), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
        if (ring == MAP_FAILED) fail("mmap");
        rings[cpu] = ring;
    }
}

static void throw_away(void) {
    for (int cpu = 0; cpu < most_cpus && rings[cpu] != NULL; ++cpu)
        __atomic_store_n(&rings[cpu]->data_tail, __atomic_load_n(&rings[cpu]->data_head, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
}

static pid_t child;

static void pass_on(int number) { kill(child, number); }

int main(int argc, char** argv) {
    int go[2], status = 0;
    char byte;
    if (argc < 3 || atol(argv[1]) <= 0) return fprintf(stderr, "usage: floor HZ COMMAND ARGS...\n"), 125;
    if (pipe(go) != 0) fail("pipe");
    child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) < 0) fail("read");
        close(go[0]);
        execvp(argv[2], argv + 2);
        fail(argv[2]);
    }
    open_rings(child, (unsigned long)atol(argv[1]));
    close(go[1]);
    signal(SIGTERM, pass_on);  // how a bench ends its servers
    while (waitpid(child, &status, WNOHANG) == 0) {
        throw_away();
        usleep(2000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Threads in numbers: threads short N | living N | raw N. Every thread adds its number; the sum is checked. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

#include "host.h"

static int entries(const char* path) {
    DIR* directory = opendir(path);
    int found = 0;
    if (directory == NULL) return -1;
    while (readdir(directory) != NULL) ++found;
    closedir(directory);
    return found - 3; /* ".", ".." and the directory itself */
}

/* However many threads there are, a profiler holds no descriptor of this process, and of its own one for each of them.
 */
static void check_descriptors(int before) {
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == NULL) return; /* no /proc here */
    const int threads = entries("/proc/self/task");
    for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
        char path[300], name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE* comm = fopen(path, "r");
        if (comm == NULL || fgets(name, sizeof name, comm) == NULL) name[0] = 0;
        if (comm != NULL) fclose(comm);
        if (strncmp(name, "flameprobe", 10) != 0) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/fd", task->d_name);
        /* Those of threads that have ended are closed at the next drain, which may be late on a busy machine. */
        for (int tries = 0; tries < 1000 && entries(path) >= 34 + threads; ++tries) usleep(10000);
        CHECK(entries(path) < 34 + threads);
    }
    closedir(tasks);
    CHECK(entries("/proc/self/fd") == before);
}

static atomic_ulong sum;
static pthread_barrier_t everybody;

static void* short_life(void* number) {
    crunch(2000);
    atomic_fetch_add(&sum, (uintptr_t)number);
    return NULL;
}

static void run_short(unsigned long count) {
    enum { at_once = 8 };
    pthread_t threads[at_once];
    const int before = entries("/proc/self/fd");
    for (unsigned long first = 1; first <= count; first += at_once) {
        unsigned n = 0;
        for (; n < at_once && first + n <= count; ++n)
            CHECK(pthread_create(&threads[n], NULL, short_life, (void*)(uintptr_t)(first + n)) == 0);
        for (unsigned i = 0; i < n; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    }
    check_descriptors(before);
}

static NOINLINE void* long_life(void* number) {
    pthread_barrier_wait(&everybody);
    work_ms(1);
    atomic_fetch_add(&sum, (uintptr_t)number);
    pthread_barrier_wait(&everybody);
    return NULL;
}

static void run_living(unsigned long count) {
    pthread_t* threads = calloc(count, sizeof *threads);
    pthread_attr_t small;
    const int before = entries("/proc/self/fd");
    CHECK(threads != NULL && pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
    CHECK(pthread_barrier_init(&everybody, NULL, (unsigned)count + 1) == 0);
    for (unsigned long i = 0; i < count; ++i)
        CHECK(pthread_create(&threads[i], &small, long_life, (void*)(uintptr_t)(i + 1)) == 0);
    pthread_barrier_wait(&everybody);
    work_ms(100);
    check_descriptors(before);
    pthread_barrier_wait(&everybody);
    for (unsigned long i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    free(threads);
}

/* Without the C library: no thread-local storage of their own, so they call nothing. */
static int raw_work(void* number) {
    crunch(25000000);
    atomic_fetch_add(&sum, (uintptr_t)number);
    return 0;
}

static void run_raw(unsigned long count) {
    enum { stack_size = 65536 };
    const int flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    int* alive = calloc(count, sizeof *alive);
    char* stacks = malloc(count * stack_size);
    CHECK(alive != NULL && stacks != NULL);
    for (unsigned long i = 0; i < count; ++i) {
        alive[i] = 1;
        CHECK(clone(raw_work, stacks + (i + 1) * stack_size, flags, (void*)(uintptr_t)(i + 1), NULL, NULL, &alive[i]) >
              0);
    }
    for (unsigned long i = 0; i < count; ++i)
        while (__atomic_load_n(&alive[i], __ATOMIC_ACQUIRE) != 0) usleep(1000);
    free(stacks);
    free(alive);
}

int main(int argc, char** argv) {
    const unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    CHECK(count > 0);
    if (strcmp(argv[1], "short") == 0)
        run_short(count);
    else if (strcmp(argv[1], "living") == 0)
        run_living(count);
    else if (strcmp(argv[1], "raw") == 0)
        run_raw(count);
    else
        return 2;
    CHECK(sum == count * (count + 1) / 2);
    printf("%lu %s threads\n", count, argv[1]);
    return 0;
}

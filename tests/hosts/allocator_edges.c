// What a program may do with an allocator beyond allocating and freeing. Prints a line for each, which is to be the
// same whoever counts.
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

extern char** environ;

// The compiler must neither leave out a pair of calls nor know what is too much.
static void* keep(void* memory) {
    __asm__ volatile("" : "+r"(memory) : : "memory");
    return memory;
}
static size_t number(size_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

static void say(const char* what, bool is_so) { printf("%s: %s\n", what, is_so ? "yes" : "no"); }

static bool is_filled(const unsigned char* memory, int with, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (memory[i] != with) return false;
    return true;
}

static void refused(void) {
    const size_t huge = number(SIZE_MAX / 2);
    errno = 0;
    say("malloc of half of all fails with ENOMEM", keep(malloc(huge)) == NULL && errno == ENOMEM);
    errno = 0;
    say("calloc that overflows fails with ENOMEM", keep(calloc(huge, 4)) == NULL && errno == ENOMEM);
    unsigned char* old = keep(malloc(5000));
    memset(old, 7, 5000);
    errno = 0;
    say("realloc that fails says ENOMEM", keep(realloc(old, huge)) == NULL && errno == ENOMEM);
    say("and leaves the old memory", is_filled(old, 7, 5000));
    errno = 0;
    say("reallocarray that overflows says ENOMEM", keep(reallocarray(old, huge, 4)) == NULL && errno == ENOMEM);
    say("and leaves it too", is_filled(old, 7, 5000));
    free(old);
    void* untouched = &old;
    errno = 5;
    const int bad = posix_memalign(&untouched, number(24), 100), small = posix_memalign(&untouched, number(2), 100);
    say("posix_memalign refuses alignments", bad == EINVAL && small == EINVAL && untouched == &old);
    say("and keeps errno", errno == 5);
    void* none = NULL;
    say("posix_memalign of nothing is done", posix_memalign(&none, 64, number(0)) == 0);
    free(none);
}

static void sizes(void) {
    unsigned char* memory = keep(malloc(3000));
    memset(memory, 1, 3000);
    say("malloc_usable_size is enough", malloc_usable_size(memory) >= 3000);
    memory = keep(realloc(memory, 300000));  // moves
    say("what moves keeps its bytes", is_filled(memory, 1, 3000) && malloc_usable_size(memory) >= 300000);
    memory = keep(realloc(memory, 10));
    say("what shrinks too", is_filled(memory, 1, 10));
    say("realloc to nothing gives something", keep(realloc(memory, number(0))) != NULL);
    say("realloc of nothing allocates", memset(keep(realloc(NULL, 20)), 1, 20) != NULL);
    free(NULL);
    say("memalign aligns", (uintptr_t)keep(memalign(4096, 100)) % 4096 == 0);
    say("valloc aligns", (uintptr_t)keep(valloc(100)) % 4096 == 0);
    say("pvalloc aligns", (uintptr_t)keep(pvalloc(100)) % 4096 == 0);
    say("aligned_alloc aligns", (uintptr_t)keep(aligned_alloc(256, 512)) % 256 == 0);
    say("malloc aligns", (uintptr_t)keep(malloc(1)) % 8 == 0 && (uintptr_t)keep(malloc(100)) % 16 == 0);
}

static void errors_are_kept(void) {
    dlopen("/no/such/library.so", RTLD_NOW);
    errno = 7;
    void* const memory = keep(malloc(1 << 20));
    say("malloc keeps errno", errno == 7);
    free(memory);
    say("free keeps errno", errno == 7);
    const char* const message = dlerror();
    say("dlerror is the program's", message != NULL && strstr(message, "/no/such/library.so") != NULL);
}

static void* allocate_with_traps(void* unused) {
    for (size_t i = 1; i < 3000; ++i) free(keep(malloc(i * 50)));
    return unused;
}

static void floats(void) {
    feclearexcept(FE_ALL_EXCEPT);
    allocate_with_traps(NULL);
    say("no floating-point exception is flagged", fetestexcept(FE_ALL_EXCEPT) == 0);
    feenableexcept(FE_ALL_EXCEPT);
    fesetround(FE_UPWARD);
    pthread_t thread;
    allocate_with_traps(NULL);
    pthread_create(&thread, NULL, allocate_with_traps, NULL);
    pthread_join(thread, NULL);
    say("the rounding mode is kept", fegetround() == FE_UPWARD);
    fesetround(FE_TONEAREST);
    fedisableexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
}

static volatile bool over;

static void* allocates(void* unused) {
    void* held[16] = {0};
    for (size_t i = 0; !over; ++i) {
        free(held[i % 16]);
        held[i % 16] = keep(malloc(100 + i % 5000));
    }
    for (size_t i = 0; i < 16; ++i) free(held[i]);
    return unused;
}

static int child(bool begins_by_vfork) {
    static char* const arguments[] = {(char*)"true", NULL};
    const pid_t pid = begins_by_vfork ? vfork() : fork();
    if (pid == 0 && begins_by_vfork) {
        execv("/bin/true", arguments);
        _exit(9);
    }
    if (pid == 0) {
        for (size_t i = 1; i < 200; ++i) free(keep(malloc(i * 100)));
        exit(0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    return status;
}

static void processes(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, allocates, NULL);
    int status = 0;
    for (int i = 0; i < 20; ++i) status |= child(false) | child(true);
    pid_t pid = 0;
    int spawned = 1;
    char* const arguments[] = {(char*)"true", NULL};
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) == 0) waitpid(pid, &spawned, 0);
    over = true;
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    say("children of a process that allocates end well", status == 0 && spawned == 0);
}

static pthread_key_t key;
static void frees_late(void* memory) {
    static _Thread_local int rounds = 0;
    free(memory);
    if (++rounds < 4) pthread_setspecific(key, keep(malloc(40000)));
}
static void* ends_late(void* unused) {
    pthread_setspecific(key, keep(malloc(40000)));
    return unused;
}

static void thread_ends(void) {
    pthread_key_create(&key, frees_late);
    bool good = true;
    for (int i = 0; i < 200; ++i) {
        pthread_t thread;
        good = good && pthread_create(&thread, NULL, ends_late, NULL) == 0 && pthread_join(thread, NULL) == 0;
    }
    say("destructors of threads allocate", good);
}

static void mappings(void) {
    const size_t page = 4096;
    unsigned char* const memory = mmap(NULL, 64 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 3, 64 * page);
    say("a part is unmapped", munmap(memory + 16 * page, 16 * page) == 0);
    unsigned char* const moved = mremap(memory, 16 * page, 256 * page, MREMAP_MAYMOVE);
    say("and the rest remapped", moved != MAP_FAILED && is_filled(moved, 3, 16 * page));
    say("and all of it unmapped", munmap(moved, 256 * page) == 0 && munmap(memory + 32 * page, 32 * page) == 0);
    errno = 0;
    say("a bad address is refused", munmap(memory + 1, page) == -1 && errno == EINVAL);
    errno = 0;
    say("nothing is not mapped",
        mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);  // children end with what it holds
    refused();
    sizes();
    errors_are_kept();
    floats();
    processes();
    thread_ends();
    mappings();
    return 0;
}

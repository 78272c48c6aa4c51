// Allocates at known sites, and says on stdout how many bytes each asked for: "site bytes calls". Arguments: the parts
// to run.
#include <flameprobe/scope.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

#define SITE __attribute__((noinline, noclone))

static void say(const char* site, size_t bytes, size_t calls) {
    char line[128];
    usleep(50000);  // the collector has taken the samples by then
    const int length = snprintf(line, sizeof line, "%s %zu %zu\n", site, bytes, calls);
    if (write(1, line, (size_t)length) != length) _exit(9);
}

static void* keep(void* memory) {
    __asm__ volatile("" : "+r"(memory) : : "memory");
    return memory;
}

SITE void small_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(malloc(64)));
}
SITE void middle_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(malloc(10000)));
}
SITE void large_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(malloc(2000000)));
}
SITE void calloc_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(calloc(10, 500)));
}
SITE void grow_site(size_t calls) {
    char* memory = NULL;
    for (size_t i = 1; i <= calls; ++i) memory = keep(realloc(memory, i * 100));
    free(memory);
}
SITE void aligned_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        void* memory = NULL;
        if (posix_memalign(&memory, 64, 3000) != 0) _exit(9);
        free(keep(memory));
        free(keep(aligned_alloc(64, 3008)));
    }
}
SITE void array_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(reallocarray(NULL, 30, 100)));
}
SITE void pages_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        free(keep(memalign(64, 5000)));
        free(keep(valloc(5000)));
    }
}
// Not every allocator has it: then it is libc's, whose memory others' free does not take.
SITE void whole_pages_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) free(keep(pvalloc(5000)));
}
// C23's, which few libraries have.
void free_sized(void* memory, size_t size) __attribute__((weak));
void free_aligned_sized(void* memory, size_t alignment, size_t size) __attribute__((weak));
SITE void sized_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        void *const memory = keep(malloc(6000)), *const aligned = keep(aligned_alloc(64, 6016));
        free_sized == NULL ? free(memory) : free_sized(memory, 6000);
        free_aligned_sized == NULL ? free(aligned) : free_aligned_sized(aligned, 64, 6016);
    }
}
SITE void keep_map_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) keep(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
SITE void map_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        void* memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(keep(memory), 1 << 20);
    }
}

enum { mib = 1 << 20 };
static char* map_at(void* at, size_t bytes, int protection) {
    char* const memory = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
    if (memory == MAP_FAILED) _exit(9);
    return memory;
}
// What is aligned is cut out of more.
SITE void trimmed_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        char* const memory = map_at(NULL, 3 * mib, PROT_READ | PROT_WRITE);
        munmap(memory, mib);
        munmap(memory + 2 * mib, mib);
        usleep(1000);
    }
}
// As heaps of virtual machines grow and shrink.
SITE void committed_site(size_t calls) {
    char* const room = map_at(NULL, 4 * mib, PROT_NONE);
    for (size_t i = 0; i < calls; ++i) {
        map_at(room, 2 * mib, PROT_READ | PROT_WRITE);
        map_at(room + mib, 2 * mib, PROT_READ | PROT_WRITE);
        map_at(room, 4 * mib, PROT_NONE);
        usleep(1000);
    }
}
SITE void moved_site(size_t calls) {
    char* const room = map_at(NULL, 4 * mib, PROT_NONE);
    for (size_t i = 0; i < calls; ++i) {
        char* const memory = map_at(NULL, 2 * mib, PROT_READ | PROT_WRITE);
        if (mremap(memory, 2 * mib, 3 * mib, MREMAP_MAYMOVE | MREMAP_FIXED, room) != room) _exit(9);
        if (mremap(room, 3 * mib, mib, MREMAP_MAYMOVE) != room) _exit(9);
        map_at(room, 4 * mib, PROT_NONE);
    }
}

// Negative numbers, and what else overflows.
SITE void refused_site(void) {
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 5, SIZE_MAX / 4 * 3, (size_t)PTRDIFF_MAX + 100000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        void* memory = NULL;
        const size_t size = (size_t)(uintptr_t)keep((void*)sizes[i]);
        if (keep(malloc(size)) != NULL || keep(realloc(NULL, size)) != NULL || keep(calloc(1, size)) != NULL ||
            posix_memalign(&memory, 64, size) == 0)
            _exit(9);
    }
}

// glibc's other name of free.
void __libc_free(void* memory);
SITE void unseen_site(size_t calls) {
    for (size_t i = 0; i < calls; ++i) {
        __libc_free(keep(malloc(10000)));
        if (i % 1000 == 0) usleep(10000);
    }
}

SITE void leak_site(void) {
    for (size_t i = 0; i < 20000; ++i) keep(malloc(5000));
}
SITE void keep_site(void) {
    for (size_t i = 0; i < 10000; ++i) keep(malloc(5000));
}
// What this site allocates first is freed after what stays of old_site was allocated.
SITE void* turn_site(void* before) {
    enum { blocks = 4000 };
    void** held = malloc(blocks * sizeof(void*));
    for (size_t i = 0; i < blocks; ++i) held[i] = keep(malloc(5000));
    for (size_t i = 0; before != NULL && i < blocks; ++i) free(((void**)before)[i]);
    free(before);
    return held;
}
SITE void old_site(void) {
    for (size_t i = 0; i < 4000; ++i) keep(malloc(5000));
}
SITE void passing_site(void** held, size_t calls) {
    for (size_t i = 0; i < calls; ++i) held[i] = keep(malloc(5000));
}
SITE void slow_leak_site(void) {
    for (size_t i = 0; i < 100; ++i) keep(malloc(5000));
}
static void* brief_worker(void* unused) {
    prctl(PR_SET_NAME, "brief");
    FLAMEPROBE_SCOPE("brief scope");
    keep_site();
    return unused;
}
static volatile sig_atomic_t told;
static void on_told(int number) { told = number; }
// For ever: what leaks goes on leaking, and what passes is freed after SIGUSR1, under another name of the thread.
static void serve(void) {
    enum { blocks = 8000 };
    static void* held[blocks];
    signal(SIGUSR1, on_told);
    pthread_t thread;
    pthread_create(&thread, NULL, brief_worker, NULL);
    pthread_join(thread, NULL);
    prctl(PR_SET_NAME, "first name");
    passing_site(held, blocks);
    usleep(100000);
    prctl(PR_SET_NAME, "second name");
    for (;; usleep(10000)) {
        slow_leak_site();
        for (size_t i = 0; told != 0 && i < blocks; ++i) free(held[i]), held[i] = NULL;
    }
}
SITE void peak_site(void) {
    static void* held[20000];
    for (size_t i = 0; i < 20000; ++i) held[i] = keep(malloc(10000));
    for (size_t i = 0; i < 20000; ++i) free(held[i]);
}

// A KiB of stack a call.
SITE void deep_site(size_t kib) {
    char room[1000];
    keep(room);
    if (kib == 0)
        middle_site(5000);
    else
        deep_site(kib - 1);
    keep(room);
}
static void* deep_worker(void* kib) {
    for (int round = 0; round < 2; ++round) {  // in the second one it is known where the stack is
        deep_site((uintptr_t)kib);
        usleep(50000);
    }
    return NULL;
}

static void* worker(void* unused) {
    (void)unused;
    middle_site(5000);
    return NULL;
}

// Of each label a thread of that name.
static void* labelled_worker(void* label) {
    prctl(PR_SET_NAME, label);
    FLAMEPROBE_SCOPE(label);
    middle_site(10000);
    return NULL;
}

SITE void handler_site(void) { free(keep(malloc(20000))); }
static void on_signal(int number) {
    (void)number;
    handler_site();
}

__attribute__((constructor)) static void early_site(void) {
    if (getenv("HOST_EARLY") == NULL) return;
    for (size_t i = 0; i < 5000; ++i) free(keep(malloc(10000)));
}

static void part(const char* name) {
    if (strcmp(name, "c") == 0) {
        small_site(2000000);
        say("small_site", 2000000UL * 64, 2000000);
        middle_site(20000);
        say("middle_site", 20000UL * 10000, 20000);
        large_site(100);
        say("large_site", 100UL * 2000000, 100);
        calloc_site(40000);
        say("calloc_site", 40000UL * 5000, 40000);
        grow_site(2000);
        say("grow_site", 100UL * 2000 * 2001 / 2, 2000);
        aligned_site(30000);
        say("aligned_site", 30000UL * 6008, 60000);
    } else if (strcmp(name, "burst") == 0) {
        middle_site(3000000);
        say("middle_site", 3000000UL * 10000, 3000000);
    } else if (strcmp(name, "map") == 0) {
        map_site(200);
        say("map_site", 200UL << 20, 200);
    } else if (strcmp(name, "threads") == 0) {
        for (int round = 0; round < 10; ++round) {
            pthread_t threads[4];
            for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, worker, NULL);
            for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
        }
        say("middle_site", 40UL * 5000 * 10000, 40UL * 5000);
    } else if (strcmp(name, "fork") == 0) {
        for (int i = 0; i < 2; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                middle_site(20000);
                exit(0);
            }
            waitpid(child, NULL, 0);
        }
        say("middle_site", 2UL * 20000 * 10000, 40000);
    } else if (strcmp(name, "parts") == 0) {
        trimmed_site(100);
        say("trimmed_site", 100UL * mib, 100);
        committed_site(100);
        say("committed_site", 0, 300);
        moved_site(100);
        say("moved_site", 0, 300);
    } else if (strcmp(name, "refused") == 0) {
        refused_site();
        middle_site(20000);
        say("middle_site", 20000UL * 10000, 20000);
    } else if (strcmp(name, "unseen") == 0) {
        unseen_site(20000);
        say("unseen_site", 20000UL * 10000, 20000);
    } else if (strcmp(name, "others") == 0) {
        array_site(30000);
        say("array_site", 30000UL * 3000, 30000);
        pages_site(10000);
        say("pages_site", 20000UL * 5000, 20000);
        sized_site(10000);
        say("sized_site", 10000UL * 12016, 20000);
    } else if (strcmp(name, "whole-pages") == 0) {
        whole_pages_site(20000);
        say("whole_pages_site", 20000UL * 5000, 20000);
    } else if (strcmp(name, "labels") == 0) {
        char* const labels[] = {(char*)"checkout", (char*)"search"};
        pthread_t threads[2];
        for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, labelled_worker, labels[i]);
        for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
        for (int i = 0; i < 2; ++i) say(labels[i], 10000UL * 10000, 10000);
    } else if (strcmp(name, "keep-map") == 0) {
        keep_map_site(100);
        say("keep_map_site", 100UL << 20, 100);
    } else if (strcmp(name, "signals") == 0) {
        signal(SIGUSR1, on_signal);
        for (int i = 0; i < 10000; ++i) raise(SIGUSR1);
        say("handler_site", 10000UL * 20000, 10000);
    } else if (strcmp(name, "leak") == 0) {
        leak_site();
        say("leak_site", 20000UL * 5000, 20000);
        peak_site();
        say("peak_site", 20000UL * 10000, 20000);
    } else if (strcmp(name, "ages") == 0) {
        static void* held;
        held = turn_site(NULL);
        say("turn_site", 4000UL * 5000, 4000);
        old_site();
        say("old_site", 4000UL * 5000, 4000);
        held = keep(turn_site(held));
    } else if (strncmp(name, "deep=", 5) == 0) {
        const uintptr_t kib = strtoul(name + 5, NULL, 10);
        pthread_t thread;
        pthread_create(&thread, NULL, deep_worker, (void*)kib);
        deep_worker((void*)kib);
        pthread_join(thread, NULL);
        say("middle_site", 4UL * 5000 * 10000, 4UL * 5000);
    } else if (strcmp(name, "keep") == 0) {
        keep_site();
        say("keep_site", 10000UL * 5000, 10000);
    } else if (strcmp(name, "serve") == 0) {
        serve();
    } else if (strcmp(name, "early") == 0) {
        say("early_site", 5000UL * 10000, 5000);
    }
}

int main(int argc, char** argv) {
    // In a program that is not position-independent it then has an address of its own.
    keep((void*)(uintptr_t)malloc);
    for (int i = 1; i < argc; ++i) part(argv[i]);
    return 0;
}

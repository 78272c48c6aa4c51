/* A host built with a sanitizer (meson.build). AddressSanitizer's LeakSanitizer stops all threads at the end and reads
 * their stacks and storage, the collector's too: `none` ends with 0, `leak` leaves a block and ends with 1. `fork` has
 * children that make threads, for which ThreadSanitizer ends a child of a process with several threads. */
#include <pthread.h>
#include <sys/wait.h>

#include "host.h"

#ifdef SANITIZED
/* The library that a test preloads comes before the sanitizer's. */
__attribute__((visibility("default"))) const char* __asan_default_options(void) { return "verify_asan_link_order=0"; }
#endif

NOINLINE void sanitized_work(void) {
    work_ms(60);
    __asm__ volatile("");
}

/* In a thread of its own, so that no old stack frame keeps a pointer to the block. */
static void* leak(void* size) {
    char* volatile block = malloc(*(size_t*)size);
    block = NULL;
    return block;
}

static void* childs_work(void* unused) {
    work_ms(150);
    return unused;
}

static void forks(void) {
    for (int i = 0; i < 3; ++i) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, childs_work, NULL) == 0 && pthread_join(thread, NULL) == 0);
            exit(3);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
}

int main(int argc, char** argv) {
#ifndef SANITIZED
    return 77;
#endif
    sanitized_work();
    size_t size = 77;
    if (argc > 1 && strcmp(argv[1], "leak") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, leak, &size) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    if (argc > 1 && strcmp(argv[1], "fork") == 0) forks();
    printf("sanitized\n");
    return 0;
}

/* The main thread leaves before the others: last_thread pthread_exit | c11 | uring | exit_thread | race. The process
   must end with the last of its own threads, and must not wait for one of the profiler's. */
#include <linux/io_uring.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>

#include "host.h"

static NOINLINE void* worker(void* last) {
    work_ms(50);
    if (last != NULL) {
        printf("last thread ends\n");
        fflush(stdout);
    }
    return NULL;
}

/* What it prints is written by the exit(3) that libc calls behind the last thread. */
static NOINLINE int c11_worker(void* unused) {
    (void)unused;
    work_ms(50);
    printf("last thread ends\n");
    return 0;
}

/* A thread of the kernel's polls the ring: /proc lists it with the program's. */
static NOINLINE void* uring_worker(void* unused) {
    struct io_uring_params parameters = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 2000};
    if (syscall(SYS_io_uring_setup, 8, &parameters) < 0) exit(77);
    work_ms(50);
    printf("last thread ends\n");
    return unused;
}

static void* sprinter(void* unused) {
    crunch(5000);
    return unused;
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (strcmp(mode, "race") == 0) { /* threads that are being born and are dying while the process ends */
        for (int i = 0; i < 200; ++i) {
            CHECK(pthread_create(&thread, NULL, sprinter, NULL) == 0);
            CHECK(pthread_detach(thread) == 0);
        }
        printf("race ends\n");
        return 0;
    }
    if (strcmp(mode, "alone") == 0) { /* the only thread leaves without exit(): status 0 by exit_thread's argument */
        worker(NULL);
        syscall(SYS_exit, 0);
    }
    if (strcmp(mode, "c11") == 0) {
        thrd_t c11;
        CHECK(thrd_create(&c11, c11_worker, NULL) == thrd_success);
        thrd_exit(0);
    }
    CHECK(pthread_create(&thread, NULL, strcmp(mode, "uring") == 0 ? uring_worker : worker, NULL) == 0);
    if (strcmp(mode, "uring") == 0) pthread_exit(NULL);
    if (strcmp(mode, "pthread_exit") == 0) pthread_exit(NULL);
    if (strcmp(mode, "exit_thread") == 0) syscall(SYS_exit, 0);
    return 2;
}

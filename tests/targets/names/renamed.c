// A thread that is called import, then export, and works under both names.
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

static volatile unsigned long sink;

static void burn(double seconds) {
    struct timespec now;
    double end = 0;
    do {
        for (int i = 0; i < 20000; i++) sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        if (end == 0) end = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + seconds;
    } while ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 < end);
}

__attribute__((noinline)) void job_import(void) {
    burn(.4);
    sink++;
}

__attribute__((noinline)) void job_export(void) {
    burn(.4);
    sink++;
}

static void* renamed(void* unused) {
    prctl(PR_SET_NAME, "import");
    job_import();
    prctl(PR_SET_NAME, "export");
    job_export();
    prctl(PR_SET_NAME, "idle");
    return unused;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, renamed, NULL) != 0) return 1;
    return pthread_join(thread, NULL);
}

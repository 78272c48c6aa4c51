/* A library that is preloaded too, and lies about the time and about who asks: every clock is a day ahead. As overlays
   do it has a dlsym, and passes on what it is asked: RTLD_NEXT is what comes next to this library then. */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { day = 86400 };

int clock_gettime(clockid_t clock, struct timespec* now) {
    const long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed == 0) now->tv_sec += day;
    return (int)failed;
}

time_t time(time_t* out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

pid_t getpid(void) { return 4; }
pid_t gettid(void) { return 5; }

void* dlsym(void* restrict handle, const char* restrict name) {
    void* (*next)(void*, const char*) = NULL;
    static const char* const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    for (int i = 0; next == NULL && i < 3; ++i) *(void**)&next = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    return next == NULL ? NULL : next(handle, name);
}

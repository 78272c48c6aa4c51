/* A host whose allocator never returns from a moment on, as after a thread was killed that held its lock. It lives on,
 * or is killed: locked stay | end. With a dlopen of its own, as a sanitizer has: then the collector allocates with it.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "host.h"

void* __libc_malloc(size_t size);

static atomic_bool locked;

void* malloc(size_t size) {
    while (atomic_load(&locked)) usleep(10000);
    return __libc_malloc(size);
}

void* dlopen(const char* file, int mode) {
    void* (*next)(const char*, int);
    *(void**)&next = dlsym(RTLD_NEXT, "dlopen");
    return next(file, mode);
}

int main(int count, char** words) {
    CHECK(count == 2);
    work_ms(200);
    const int ends = strcmp(words[1], "end") == 0;
    puts("ready");
    fflush(stdout);
    CHECK(getchar() == '\n');
    atomic_store(&locked, ends);
    if (ends) raise(SIGKILL);
    work_ms(200);
    return 0;
}

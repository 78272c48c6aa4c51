/* A host whose allocator never returns from a moment on, as after a thread was killed that held its lock. It lives on,
 * or ends: locked stay | end */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "host.h"

void* __libc_malloc(size_t size);

static atomic_bool locked;

void* malloc(size_t size) {
    while (atomic_load(&locked)) usleep(10000);
    return __libc_malloc(size);
}

int main(int count, char** words) {
    CHECK(count == 2);
    work_ms(200);
    const int ends = strcmp(words[1], "end") == 0;
    puts("ready");
    fflush(stdout);
    CHECK(getchar() == '\n');
    atomic_store(&locked, ends);
    if (ends) syscall(SYS_exit_group, 0);
    work_ms(200);
    return 0;
}

/* Opens a library whose constructor takes its time: constructor PLUGIN [ends]. */
#include <dlfcn.h>

#include "host.h"

static NOINLINE void work_after_constructor(void) {
    work_ms(100);
    __asm__ volatile(""); /* no tail call */
}

int main(int argc, char** argv) {
    CHECK(argc >= 2);
    CHECK(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) != NULL);
    work_after_constructor();
    printf("opened\n");
    return 0;
}

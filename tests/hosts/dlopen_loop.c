/* Code that comes and goes: dlopen_loop PLUGIN TIMES. */
#include <dlfcn.h>

#include "host.h"

int main(int argc, char** argv) {
    CHECK(argc > 2);
    const long times = atol(argv[2]);
    const unsigned long expected = crunch(100000);
    for (long i = 0; i < times; ++i) {
        void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        unsigned long (*work)(unsigned long);
        *(void**)&work = dlsym(library, "plugin_work");
        CHECK(work != NULL);
        CHECK(work(100000) == expected);
        CHECK(dlclose(library) == 0);
        CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL); /* really gone: nothing else holds it */
    }
    printf("loaded %ld times\n", times);
    return 0;
}

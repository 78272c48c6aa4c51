/* loader ROUNDS LIBRARY FUNCTION [LIBRARY FUNCTION]...: loads, calls and unloads one after the other, ROUNDS times, and
 * prints where each function was. LIBRARY memfd:PATH is loaded from a copy in memory that has no name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void* load(const char* path) {
    if (strncmp(path, "memfd:", 6) != 0) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char bytes[4096], name[64];
    const int from = open(path + 6, O_RDONLY), to = memfd_create("plugin", MFD_CLOEXEC);
    for (ssize_t size; (size = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, (size_t)size) != size) exit(3);
    snprintf(name, sizeof name, "/proc/self/fd/%d", to);
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    close(from);
    close(to);
    return library;
}

int main(int argc, char** argv) {
    for (int round = atoi(argv[1]); round > 0; --round) {
        for (int i = 2; i + 1 < argc; i += 2) {
            void* library = load(argv[i]);
            unsigned (*work)(unsigned) = NULL;
            if (library != NULL) *(void**)&work = dlsym(library, argv[i + 1]);
            if (work == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
            printf("%s %p\n", argv[i + 1], *(void**)&work);
            if (work(20000) == 0) return 4;
            /* The last one stays, as a plugin in use does. */
            if ((round > 1 || i + 3 < argc) && dlclose(library) != 0) return 5;
        }
    }
    return 0;
}

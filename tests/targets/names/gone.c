// Works in a library that is gone at the end: gone LIBRARY COPY first|last copies it, loads the copy, and deletes that
// before the work ("first"), or after it was unloaded ("last").
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static int copy(const char* from, const char* to) {
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0700);
    if (in < 0 || out < 0) return -1;
    while (sendfile(out, in, 0, 1 << 20) > 0) {
    }
    close(in);
    return close(out);
}

int main(int count, char** arguments) {
    if (count != 4 || copy(arguments[1], arguments[2]) != 0) return 2;
    void* const library = dlopen(arguments[2], RTLD_NOW);
    if (library == NULL) return 3;
    void (*work)(unsigned long);
    *(void**)&work = dlsym(library, "library_work");
    if (work == NULL) return 4;
    if (strcmp(arguments[3], "first") == 0) unlink(arguments[2]);
    work(400000000);
    dlclose(library);
    unlink(arguments[2]);
    return 0;
}

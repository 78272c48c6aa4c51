// Works in a library that is gone at the end: gone LIBRARY COPY first|last copies it, loads the copy, and deletes that
// before the work ("first"), or after it was unloaded ("last"). gone LIBRARY COPY new|over OTHER: after it was unloaded
// another library takes its place, in a new file or the same one, and works.
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static int copy(const char* from, const char* to, int how) {
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | how, 0700);
    if (in < 0 || out < 0) return -1;
    while (sendfile(out, in, 0, 1 << 20) > 0) {
    }
    close(in);
    return close(out);
}

static void* load_and_work(const char* path, const char* function) {
    void* const library = dlopen(path, RTLD_NOW);
    void (*work)(unsigned long) = NULL;
    if (library != NULL) *(void**)&work = dlsym(library, function);
    if (work == NULL) _exit(4);
    work(400000000);
    return library;
}

int main(int count, char** arguments) {
    if (count < 4 || copy(arguments[1], arguments[2], O_CREAT | O_EXCL) != 0) return 2;
    const char* const path = arguments[2];
    void* library = dlopen(path, RTLD_NOW);
    if (strcmp(arguments[3], "first") == 0) unlink(path);
    if (library == NULL) return 3;
    dlclose(load_and_work(path, "library_work"));
    dlclose(library);
    if (strcmp(arguments[3], "over") != 0) unlink(path);
    if (count < 5) return 0;
    if (copy(arguments[4], path, O_CREAT | O_TRUNC) != 0) return 5;
    dlclose(load_and_work(path, "another_work"));
    return 0;
}

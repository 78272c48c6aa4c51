// A process image that is replaced runs no destructors: its profile is completed before, and after a failed exec
// sampling goes on in another. Threads and perf events end with the image by themselves.
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

int (*next_execve)(const char*, char* const[], char* const[]) = nullptr;
int (*next_execvpe)(const char*, char* const[], char* const[]) = nullptr;
int (*next_fexecve)(int, char* const[], char* const[]) = nullptr;
int (*next_execveat)(int, const char*, char* const[], char* const[], int) = nullptr;

/// Before the image is replaced, or that fails. Does nothing in a vfork child, whose pid is not the session's.
void announce_replacement() noexcept {
    const flameprobe_core* const core = core_if_loaded();
    if (core == nullptr) return;
    const int saved = errno;
    core->ask(request_replace);
    errno = saved;
}

size_t count_arguments(const char* first, va_list rest) {
    size_t count = 1;
    if (first == nullptr) return 0;
    while (va_arg(rest, char*) != nullptr) ++count;
    return count;
}

// Not malloc: exec is called in children of multi-threaded parents, where nothing but async-signal-safe code may run.
void take_arguments(char** out, const char* first, va_list rest) {
    *out++ = const_cast<char*>(first);
    if (first == nullptr) return;
    while ((*out++ = va_arg(rest, char*)) != nullptr) {
    }
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
    announce_replacement();
    return next(next_execve, "execve")(path, arguments, environment);
}
FLAMEPROBE_INTERPOSED int execv(const char* path, char* const arguments[]) noexcept {
    return execve(path, arguments, environ);
}
FLAMEPROBE_INTERPOSED int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
    announce_replacement();
    return next(next_execvpe, "execvpe")(file, arguments, environment);
}
FLAMEPROBE_INTERPOSED int execvp(const char* file, char* const arguments[]) noexcept {
    return execvpe(file, arguments, environ);
}
FLAMEPROBE_INTERPOSED int fexecve(int descriptor, char* const arguments[], char* const environment[]) noexcept {
    announce_replacement();
    return next(next_fexecve, "fexecve")(descriptor, arguments, environment);
}
FLAMEPROBE_INTERPOSED int execveat(int directory, const char* path, char* const arguments[], char* const environment[],
                                   int flags) noexcept {
    announce_replacement();
    return next(next_execveat, "execveat")(directory, path, arguments, environment, flags);
}

// The lists of execl become arrays on the stack (execl(3): "..." ends with a null pointer).
#define FLAMEPROBE_COLLECT(array, first)                                                            \
    va_list list;                                                                                   \
    va_start(list, first);                                                                          \
    char** array = static_cast<char**>(alloca((count_arguments(first, list) + 1) * sizeof(char*))); \
    va_end(list);                                                                                   \
    va_start(list, first);                                                                          \
    take_arguments(array, first, list)

FLAMEPROBE_INTERPOSED int execl(const char* path, const char* first, ...) noexcept {
    FLAMEPROBE_COLLECT(arguments, first);
    va_end(list);
    return execve(path, arguments, environ);
}
FLAMEPROBE_INTERPOSED int execlp(const char* file, const char* first, ...) noexcept {
    FLAMEPROBE_COLLECT(arguments, first);
    va_end(list);
    return execvpe(file, arguments, environ);
}
FLAMEPROBE_INTERPOSED int execle(const char* path, const char* first, ...) noexcept {
    FLAMEPROBE_COLLECT(arguments, first);
    char* const* environment = va_arg(list, char* const*);
    va_end(list);
    return execve(path, arguments, environment);
}

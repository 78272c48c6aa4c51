// Where processes and threads are limited (a cgroup's pids.max, RLIMIT_NPROC), the collector has one of them: a call of
// the host that fails for want of one is made again without it. What fork(2) and pthread_create(3) need is in fork.cpp
// and threads.cpp; here are those that make a process inside libc. vfork(2) cannot be wrapped: it returns twice.
#include "room.hpp"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose.hpp"

namespace flameprobe {
namespace {

int (*next_posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const[],
                        char* const[]) = nullptr;
int (*next_posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                         char* const[], char* const[]) = nullptr;
int (*next_system)(const char*) = nullptr;
FILE* (*next_popen)(const char*, const char*) = nullptr;

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                                      const posix_spawnattr_t* attributes, char* const arguments[],
                                      char* const environment[]) {
    auto* const real = next(next_posix_spawn, "posix_spawn");
    return without_collector([&] { return real(child, path, actions, attributes, arguments, environment); },
                             has_no_place);
}

FLAMEPROBE_INTERPOSED int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                                       const posix_spawnattr_t* attributes, char* const arguments[],
                                       char* const environment[]) {
    auto* const real = next(next_posix_spawnp, "posix_spawnp");
    return without_collector([&] { return real(child, file, actions, attributes, arguments, environment); },
                             has_no_place);
}

// Gives the status of a shell that could not be executed, or -1 (glibc before 2.30).
FLAMEPROBE_INTERPOSED int system(const char* command) {
    auto* const real = next(next_system, "system");
    const int before = errno;
    errno = 0;
    const int status = without_collector([&] { return real(command); },
                                         [](int done) { return (done == -1 || done == 127 << 8) && errno == EAGAIN; });
    if (errno == 0) errno = before;
    return status;
}

// glibc says ENOMEM for it.
FLAMEPROBE_INTERPOSED FILE* popen(const char* command, const char* mode) {
    auto* const real = next(next_popen, "popen");
    return without_collector([&] { return real(command, mode); },
                             [](const FILE* file) { return file == nullptr && (errno == EAGAIN || errno == ENOMEM); });
}

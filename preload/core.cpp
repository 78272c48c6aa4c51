#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

constinit const flameprobe_core* loaded = nullptr;
constinit const alloc::Table* of_alloc_library = nullptr;
constinit bool threads_are_known = false;
constinit pthread_once_t once = PTHREAD_ONCE_INIT;
// Recursive, since a library may fork in its constructor, which the opening runs.
constinit pthread_mutex_t opening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void complain(const char* what, const char* why) {
    if (environment_at_load().has("FLAMEPROBE_LOG=quiet")) return;
    char line[1024];
    const int length = ::snprintf(line, sizeof line, "flameprobe: nothing is sampled: %s%s\n", what, why);
    if (length > 0) {
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, ::strnlen(line, sizeof line));
    }
}

void* in_libc(const char* name) {
    void* const libc = ::dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    return libc == nullptr ? nullptr : ::dlsym(libc, name);
}

/// By libc's own dlopen: that of a sanitizer ends the process for RTLD_DEEPBIND. So a sanitizer sees nothing of what
/// the core does, but what libc allocates for it.
void* open_apart(const char* path) {
    // RTLD_LOCAL: the host does not see its names. RTLD_DEEPBIND: it calls libc's functions, whatever the host has
    // under their names. RTLD_NODELETE: its threads outlive every dlclose.
    constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    const auto open = reinterpret_cast<void* (*)(const char*, int)>(in_libc("dlopen"));
    return open == nullptr ? ::dlopen(path, flags) : open(path, flags | RTLD_DEEPBIND);
}

void* open_core_in(const char* directory) {
    // Installed it lies in a folder of its own; in a build tree beside this library.
    constexpr const char* places[] = {"flameprobe/libflameprobe-core.so", "libflameprobe-core.so"};
    for (const char* place : places) {
        char path[PATH_MAX];
        const int length = ::snprintf(path, sizeof path, "%s/%s", directory, place);
        if (length < 0 || length >= PATH_MAX || ::access(path, R_OK) != 0) continue;
        return open_apart(path);
    }
    return nullptr;
}

constinit flameprobe_services services = {.read_unit_counts = read_unit_counts,
                                          .allocations = nullptr,
                                          .sigaction = ::sigaction,
                                          .create_thread = nullptr,
                                          .passings = nullptr};

/// Where this library was loaded from. The directory of the file itself only if there is no core beside the link to it:
/// a filter may kill for readlink(2).
bool own_directory(char (&path)[PATH_MAX], bool of_file) {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&own_directory), &info) == 0 || info.dli_fname == nullptr) return false;
    char here[PATH_MAX] = "";
    const bool relative = info.dli_fname[0] != '/';
    if (!of_file && relative && ::getcwd(here, sizeof here) == nullptr) return false;
    if (of_file && ::realpath(info.dli_fname, path) == nullptr) return false;
    if (!of_file && ::snprintf(path, sizeof path, "%s%s%s", here, relative ? "/" : "", info.dli_fname) >= PATH_MAX)
        return false;
    char* const slash = ::strrchr(path, '/');
    if (slash != nullptr) *slash = '\0';
    return slash != nullptr;
}

/// A host may export any name.
bool is_of_alloc_library(const void* function) noexcept {
    constexpr const char* library = "libflameprobe-alloc.so";
    Dl_info info{};
    if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
    const char* const slash = ::strrchr(info.dli_fname, '/');
    return ::strcmp(slash == nullptr ? info.dli_fname : slash + 1, library) == 0;
}

void* open_core() {
    char directory[PATH_MAX];
    for (const bool of_file : {false, true}) {
        if (!own_directory(directory, of_file)) continue;
        if (void* const handle = open_core_in(directory)) return handle;
    }
    return nullptr;
}

/// Under a small limit (ulimit -v) the host may need all of it, and its own call would be the one that fails: the
/// library, the collector's stack and what samples are kept in take up to 11 MB of it.
bool has_little_address_space() {
    constexpr rlim_t least = 64 << 20;
    rlimit space{};
    return ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < least;
}

void open_once() {
    const OwnAllocations own;
    if (has_little_address_space())
        return complain("the program may use less than 64 MB of memory (ulimit -v), ", "and may need all of it itself");
    void* handle = open_core();
    if (handle == nullptr) {
        // A program of musl, which a program of the run has executed: it runs as alone.
        if (environment_at_load().has_name("FLAMEPROBE_ROOT") &&
            ::dlsym(RTLD_DEFAULT, "gnu_get_libc_version") == nullptr)
            return;
        const char* why = ::dlerror();
        return complain("libflameprobe-core.so cannot be loaded: ",
                        why != nullptr ? why : "it is not beside libflameprobe.so");
    }
    using Table = const flameprobe_core* (*)();
    const auto get_table = reinterpret_cast<Table>(::dlsym(handle, "flameprobe_core_table"));
    const flameprobe_core* const table = get_table == nullptr ? nullptr : get_table();
    if (table == nullptr || table->version != FLAMEPROBE_CORE_VERSION)
        return complain("libflameprobe-core.so ", "is not of the same version as libflameprobe.so");
    if (table->refusal != nullptr) return complain("", table->refusal);
    services.allocations = of_alloc_library;
    services.passings = passings_state();
    // ThreadSanitizer alone replaces this function of libc's.
    threads_are_known = ::dlsym(RTLD_DEFAULT, "pthread_once") != in_libc("pthread_once");
    // By its name, and with RTLD_DEFAULT, it would be ours (threads.cpp).
    if (void* const program = threads_are_known ? ::dlopen(nullptr, RTLD_LAZY) : nullptr)
        services.create_thread = reinterpret_cast<decltype(services.create_thread)>(::dlsym(program, "pthread_create"));
    table->use_services(&services);
    __atomic_store_n(&loaded, table, __ATOMIC_RELEASE);
}

void open_alone() {
    lock_core_opening();
    open_once();
    unlock_core_opening();
}

}  // namespace

bool knows_threads() { return threads_are_known; }

const flameprobe_core* core() {
    ::pthread_once(&once, open_alone);
    return core_if_loaded();
}

void lock_core_opening() { ::pthread_mutex_lock(&opening); }
bool lock_core_opening_for_fork() {
    for (const Deadline deadline(100 * ns_per_ms); ::pthread_mutex_trylock(&opening) != 0;) {
        if (deadline.over()) return false;
        const timespec pause{0, 1'000'000};
        ::nanosleep(&pause, nullptr);
    }
    return true;
}
void unlock_core_opening() { ::pthread_mutex_unlock(&opening); }
// The holder is known by its tid, and the child has another.
void reset_core_opening_in_child() { opening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; }

const flameprobe_core* core_if_loaded() noexcept { return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE); }

void find_alloc_table() noexcept {
    using GetTable = const alloc::Table* (*)();
    void* const found = ::dlsym(RTLD_DEFAULT, "flameprobe_alloc_table");
    if (found == nullptr) ::dlerror();  // the host's next question is not answered by ours
    if (found == nullptr || !is_of_alloc_library(found)) return;
    const alloc::Table* const table = reinterpret_cast<GetTable>(found)();
    if (table->version == alloc::table_version) of_alloc_library = table;
}
const alloc::Table* alloc_table() noexcept { return of_alloc_library; }

}  // namespace flameprobe

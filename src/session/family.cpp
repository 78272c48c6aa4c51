#include "session/family.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "collect/profile_file.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"

namespace flameprobe {
namespace {

// PID:SECONDS.NANOSECONDS:NAME/DIRECTORY of the first process; a comma, where an ancestor takes orphans
// (preload/prctl.cpp).
constexpr const char* variable = "FLAMEPROBE_ROOT";

bool has_comma(const char* mark) { return mark != nullptr && mark[::strspn(mark, "0123456789:")] == ','; }

Family read_family() {
    Family found;
    found.pid = ::getpid();
    ::clock_gettime(CLOCK_REALTIME_COARSE, &found.start);
    found.name = executable_name();
    found.directory = working_directory();
    const char* mark = ::getenv(variable);
    int pid = 0, length = 0;
    long long seconds = 0;
    long nanoseconds = 0;
    if (mark == nullptr || ::sscanf(mark, "%d:%lld%*[.,]%ld:%n", &pid, &seconds, &nanoseconds, &length) != 3)
        return found;
    const char* const slash = length == 0 ? nullptr : ::strchr(mark + length, '/');
    if (slash == nullptr) return found;
    found.descendant = pid != ::getpid();
    found.adopted = has_comma(mark);
    found.pid = pid;
    found.start = {static_cast<time_t>(seconds), nanoseconds};
    found.name.assign(mark + length, slash);
    // After chroot(2) the directory may not be there any more.
    if (::access(slash, F_OK) == 0) found.directory = slash;
    return found;
}

constinit Family* the_family = nullptr;                    // no destructor: the collector outlives the host's
constinit std::atomic<bool>* told_out_of_reach = nullptr;  // in memory that forked processes share

/// The host's environment. A shell has libc's variable `environ` in its own memory (a copy relocation). The core is
/// opened with RTLD_DEEPBIND: its own `environ` would be the one in libc, which is empty there. Not for the collector:
/// a thread of the host may hold the dynamic linker's lock, which this takes.
char** host_environment() {
    void* const program = ::dlopen(nullptr, RTLD_LAZY);  // RTLD_DEFAULT would begin with the caller's own scope
    auto* const found = program == nullptr ? nullptr : static_cast<char***>(::dlsym(program, "environ"));
    return found == nullptr ? nullptr : *found;
}

/// A launcher's mark, which has the launcher's name, is replaced in its place: a shell's own setenv would set what the
/// shell then takes from the environment.
void put_mark(const std::string& mark) {
    const std::string line = std::string(variable) + "=" + mark;
    for (char** entry = host_environment(); entry != nullptr && *entry != nullptr; ++entry) {
        if (::strncmp(*entry, line.c_str(), ::strlen(variable) + 1) != 0) continue;
        if (char* const copy = ::strdup(line.c_str())) *entry = copy;
        return;
    }
    ::setenv(variable, mark.c_str(), 0);
}

bool is_relative(const std::string& path) { return !path.empty() && path.front() != '/'; }

}  // namespace

const Family& family() {
    static const Family* const found = the_family = new Family(read_family());
    return *found;
}

void leave_first_process() noexcept {
    if (the_family != nullptr) the_family->forked = true;
}

void take_orphans() noexcept {
    if (the_family != nullptr) the_family->adopted = true;
}

bool is_first_process() { return !family().forked && static_cast<int>(host_process()) == family().pid; }

// A zombie has ended, though its parent may never take notice; and one that exits makes no result any more. Where /proc
// does not show it, only its number tells: that is looked at last, since its parent may take notice meanwhile.
bool first_process_lives() {
    const auto exists = [] { return ::kill(family().pid, 0) == 0 || errno == EPERM; };
    if (!exists()) return false;  // /proc may be another pid namespace's
    if (is_running(family().pid)) return true;
    return ::access(("/proc/" + std::to_string(family().pid)).c_str(), F_OK) != 0 && exists();
}

std::string run_stem(const Options& options) {
    PathFacts facts;
    facts.executable = family().name;
    facts.pid = static_cast<std::uint32_t>(family().pid);
    facts.start_unix = static_cast<std::uint64_t>(family().start.tv_sec);
    facts.directory = family().directory;
    return expand_path(options.out, facts);
}

void expect_other_root() noexcept {
    if (told_out_of_reach != nullptr) return;
    void* const shared =
        ::mmap(nullptr, sizeof *told_out_of_reach, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) told_out_of_reach = new (shared) std::atomic<bool>{false};
}

Result<void> reach_run(const Options& options) {
    const std::string stem = run_stem(options);
    if (told_out_of_reach == nullptr || ::access(stem.substr(0, stem.rfind('/') + 1).c_str(), F_OK) == 0) return {};
    if (told_out_of_reach->exchange(true)) return Error{""};
    return Error{"processes that are forked after chroot() or pivot_root() are not sampled: they cannot reach " + stem +
                 ".run"};
}

// A launcher that became the program (env, nice) and has recorded nothing leaves its name to it.
void mark_descendants(const Options& options, bool complained) {
    const std::string stem = run_stem(options);
    struct stat result {};
    // Before the program that it executed began, what the launcher recorded may have become the result.
    const bool recorded =
        ::access((stem + ".run").c_str(), F_OK) == 0 ||
        (::lstat((stem + ".fprobe").c_str(), &result) == 0 && !is_later(family().start, result.st_mtim));
    // Before there is another thread of ours.
    if (!family().descendant && !recorded) the_family->name = executable_name();
    const bool needed = !options.children || options.one_result() || complained || is_relative(options.out) ||
                        is_relative(options.log_path) || options.out.find("%p") == std::string::npos;
    if (needed && !family().descendant) put_mark(family().mark());
}

std::string Family::mark() const {
    return std::to_string(pid) + ":" + std::to_string(start.tv_sec) + "." + std::to_string(start.tv_nsec) + ":" + name +
           directory;
}

}  // namespace flameprobe

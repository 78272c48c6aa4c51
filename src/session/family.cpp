#include "session/family.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/run_info.hpp"

namespace flameprobe {
namespace {

// PID:SECONDS.NANOSECONDS:DIRECTORY of the first process.
constexpr const char* variable = "FLAMEPROBE_ROOT";

Family read_family() {
    Family found;
    found.pid = ::getpid();
    ::clock_gettime(CLOCK_REALTIME_COARSE, &found.start);
    found.directory = working_directory();
    const char* mark = ::getenv(variable);
    int pid = 0, length = 0;
    long long seconds = 0;
    long nanoseconds = 0;
    if (mark == nullptr || ::sscanf(mark, "%d:%lld.%ld:%n", &pid, &seconds, &nanoseconds, &length) != 3) return found;
    if (length == 0 || mark[length] != '/') return found;
    found.descendant = pid != ::getpid();
    found.pid = pid;
    found.start = {static_cast<time_t>(seconds), nanoseconds};
    // After chroot(2) the directory may not be there any more.
    if (::access(mark + length, F_OK) == 0) found.directory = mark + length;
    return found;
}

bool is_relative(const std::string& path) { return !path.empty() && path.front() != '/'; }

}  // namespace

const Family& family() {
    static const auto* const found = new Family(read_family());  // no destructor: the collector outlives the host's
    return *found;
}

void mark_descendants(const Options& options, bool complained) {
    const bool needed = !options.children || options.run_draws || complained || is_relative(options.out) ||
                        is_relative(options.log_path) || options.out.find("%p") == std::string::npos;
    if (!needed || ::getenv(variable) != nullptr) return;
    const Family& ours = family();
    const std::string mark = std::to_string(ours.pid) + ":" + std::to_string(ours.start.tv_sec) + "." +
                             std::to_string(ours.start.tv_nsec) + ":" + ours.directory;
    ::setenv(variable, mark.c_str(), 0);
}

}  // namespace flameprobe

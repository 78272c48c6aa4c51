#include "running.hpp"

#include <unistd.h>

#include "base/proc.hpp"
#include "tasks.hpp"

namespace flameprobe::counting {

namespace {

long count_of(const std::string& status, const std::string& key) {
    return static_cast<long>(status_number(status, key).value_or(0));
}

timeval time_of(std::uint64_t ticks) {
    const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return {static_cast<time_t>(ticks / per_second),
            static_cast<suseconds_t>(ticks % per_second * 1'000'000 / per_second)};
}

}  // namespace

RunningProcess::RunningProcess(pid_t pid) : pid_(pid), name_(text_of("/proc/" + std::to_string(pid) + "/comm")) {
    if (!name_.empty()) name_.pop_back();
    look();
    before_ = now_;
    switches_before_ = switches_;
}

// proc(5): /proc/PID/stat.
RunningProcess::Figures RunningProcess::read() const {
    const std::string directory = "/proc/" + std::to_string(pid_), stat = text_of(directory + "/stat");
    constexpr int minor = 10, major = 12, user = 14, system = 15;
    return {stat_number(stat, user), stat_number(stat, system), static_cast<long>(stat_number(stat, minor)),
            static_cast<long>(stat_number(stat, major)), count_of(text_of(directory + "/status"), "VmHWM")};
}

void RunningProcess::look() {
    const Figures found = read();
    if (found.user + found.system >= now_.user + now_.system) now_ = found;  // else it has ended
    const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
    for (const pid_t tid : numbers_in(tasks)) {
        const std::string status = text_of(tasks + "/" + std::to_string(tid) + "/status");
        if (status.empty()) continue;
        switches_[tid] = {count_of(status, "voluntary_ctxt_switches"), count_of(status, "nonvoluntary_ctxt_switches")};
    }
}

rusage RunningProcess::used() const {
    rusage usage{};
    usage.ru_utime = time_of(now_.user - before_.user);
    usage.ru_stime = time_of(now_.system - before_.system);
    usage.ru_minflt = now_.minor - before_.minor;
    usage.ru_majflt = now_.major - before_.major;
    usage.ru_maxrss = now_.peak_kib;
    for (const auto& [tid, count] : switches_) {
        const auto known = switches_before_.find(tid);
        const Switches before = known != switches_before_.end() ? known->second : Switches{};
        usage.ru_nvcsw += count.voluntary - before.voluntary;
        usage.ru_nivcsw += count.forced - before.forced;
    }
    return usage;
}

}  // namespace flameprobe::counting

#include "collect/usage.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "profile/model.hpp"

namespace flameprobe {

std::optional<Usage> read_usage() {
    const auto stat = read_small_file((host_proc_directory() + "/stat").c_str());
    const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
    if (name_end == std::string::npos) return std::nullopt;
    // proc(5): the fields after the name are numbered from 3; minflt is 10, majflt 12.
    const char* at = stat->c_str() + name_end + 1;
    const auto field = [&](int skip) {
        while (skip-- > 0 && *at != '\0') {
            while (*at == ' ') ++at;
            while (*at != ' ' && *at != '\0') ++at;
        }
        return std::strtoull(at, nullptr, 10);
    };
    Usage usage;
    usage.minor_faults = field(7);
    usage.major_faults = field(2);
    const auto status = read_small_file((host_proc_directory() + "/status").c_str());
    const std::size_t peak = status ? status->find("\nVmHWM:") : std::string::npos;
    if (peak != std::string::npos)
        usage.peak_bytes = 1024 * std::strtoull(status->c_str() + peak + sizeof "VmHWM:", nullptr, 10);
    return usage;
}

void UsageAccount::begin(std::uint64_t now_ns) {
    last_ = read_usage();
    read_ns_ = now_ns;
}

void UsageAccount::read(std::uint64_t now_ns, bool at_the_end) {
    constexpr std::uint64_t every_ns = 1'000'000'000;
    if (!last_ || (!at_the_end && now_ns < read_ns_ + every_ns)) return;
    read_ns_ = now_ns;
    const auto now = read_usage();
    if (!now) return;
    sum_.minor_faults += now->minor_faults - std::min(now->minor_faults, last_->minor_faults);
    sum_.major_faults += now->major_faults - std::min(now->major_faults, last_->major_faults);
    sum_.peak_bytes = std::max(sum_.peak_bytes, now->peak_bytes);
    last_ = now;
}

void UsageAccount::add_to(Counters& counters) const {
    if (!last_) return;
    counters[std::string(counter::minor_faults)] = sum_.minor_faults;
    counters[std::string(counter::major_faults)] = sum_.major_faults;
    if (sum_.peak_bytes != 0) counters[std::string(counter::peak_memory)] = sum_.peak_bytes;
}

}  // namespace flameprobe

#include "container_roots.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/clock.hpp"
#include "base/proc.hpp"

namespace flameprobe::push {

namespace {

constexpr std::uint64_t clock_slack_ns = ns_per_second / 10;  // clocks are set and slewed between the two readings

/// proc(5): starttime, in clock ticks since the boot.
std::optional<std::uint64_t> start_of(const std::string& process) {
    const auto stat = read_small_file((process + "/stat").c_str());
    if (!stat) return std::nullopt;
    const std::uint64_t ticks = stat_number(*stat, 22);
    const std::uint64_t booted = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_BOOTTIME);
    return booted + ticks * (ns_per_second / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

/// A path to the process's directory in /proc that stays the same process's when the pid is used again.
std::string path_of(const Descriptor& process) { return "/proc/self/fd/" + std::to_string(process.get()); }

}  // namespace

void ContainerRoots::forget() {
    oldest_.clear();
    looked_ = false;
}

void ContainerRoots::look() {
    looked_ = true;
    for (const pid_t pid : numbers_in("/proc")) {
        Descriptor process(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        const std::string place = process ? place_of(path_of(process)) : "";
        const auto started = place.empty() ? std::nullopt : start_of(path_of(process));
        if (!started) continue;
        Inhabitant& known = oldest_[place];
        if (!known.process || *started < known.started_unix_ns) known = {std::move(process), *started, nullptr};
    }
}

std::shared_ptr<const Descriptor> ContainerRoots::find(const std::string& place, std::uint64_t unix_ns) {
    if (!looked_) look();
    const auto found = oldest_.find(place);
    if (found == oldest_.end() || found->second.started_unix_ns > unix_ns + clock_slack_ns) return nullptr;
    Inhabitant& inhabitant = found->second;
    if (!inhabitant.root) {
        Descriptor root(::openat(inhabitant.process.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!root || place_of(path_of(inhabitant.process)) != place) return nullptr;
        inhabitant.root = std::make_shared<const Descriptor>(std::move(root));
    }
    return inhabitant.root;
}

}  // namespace flameprobe::push

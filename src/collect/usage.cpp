#include "collect/usage.hpp"

#include <algorithm>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "profile/model.hpp"

namespace flameprobe {
namespace {

constinit UnitCounters counters{};
constinit const UnitCounts* inherited = nullptr;  // never freed: the collector may outlive static destructors

/// Of the host, since it began; nullopt where /proc does not give it. Takes some 30 us.
std::optional<Usage> read_usage() {
    const auto stat = read_small_file((host_proc_directory() + "/stat").c_str());
    if (!stat) return std::nullopt;
    // proc(5): minflt and majflt.
    Usage usage;
    usage.minor_faults = stat_number(*stat, 10);
    usage.major_faults = stat_number(*stat, 12);
    const auto status = read_small_file((host_proc_directory() + "/status").c_str());
    if (const auto peak_kib = status ? status_number(*status, "VmHWM") : std::nullopt)
        usage.peak_bytes = 1024 * *peak_kib;
    return usage;
}

}  // namespace

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

void read_unit_counts_by(UnitCounters those) { counters = those; }

void begin_unit_counts() {
    if (any_units_counted()) inherited = new UnitCounts(counters.read());
}

UnitCounts unit_counts() {
    if (counters.read == nullptr) return {};
    UnitCounts counts = counters.read();
    if (inherited == nullptr) return counts;
    for (const auto& [name, amount] : *inherited) {
        if ((counts[name] -= amount) == 0) counts.erase(name);
    }
    return counts;
}

bool any_units_counted() noexcept { return counters.any != nullptr && counters.any(); }

}  // namespace flameprobe

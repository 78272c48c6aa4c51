#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "symbolize/load_steps.hpp"

namespace flameprobe {

bool is_of_this_boot(const RunInfo& run) {
    utsname system{};
    if (run.host.empty() || uname(&system) != 0) return false;
    const bool same_host = run.host.starts_with(system.nodename) && run.host.ends_with(system.release);
    const auto now = static_cast<std::int64_t>(read_clock(CLOCK_REALTIME));
    const std::int64_t booted = now - static_cast<std::int64_t>(read_clock(CLOCK_BOOTTIME));
    const auto started = static_cast<std::int64_t>(run.start_unix_ns);
    return same_host && started >= booted && started <= now;
}

bool has_own_perf_map(const RunInfo& run) {
    struct stat status {};
    if (stat(("/tmp/perf-" + std::to_string(run.pid) + ".map").c_str(), &status) != 0) return false;
    // File times are those of the last tick, so a map may seem older than the start of the run.
    return ns_of(status.st_mtim) + ns_per_second >= run.start_unix_ns;
}

SymbolizeOptions with_provenance(SymbolizeOptions options, const RunInfo& run) {
    const std::string here = place_of("/proc/self");
    const bool elsewhere = options.paths_by_place && !run.place.empty() && run.place != here;
    options.same_place = options.same_place && !elsewhere;
    if (elsewhere && options.root_of) options.root = options.root_of(run);
    options.start_monotonic_ns = run.start_monotonic_ns;
    options.same_boot = options.same_boot || is_of_this_boot(run) || same_boot(run.place, here);
    if (options.pid == 0 && options.same_boot && !elsewhere && has_own_perf_map(run)) options.pid = run.pid;
    return options;
}

}  // namespace flameprobe

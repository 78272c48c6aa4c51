#include "run_reading.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "profiles.hpp"
#include "reading.hpp"
#include "render/numbers.hpp"

namespace flameprobe::bench {

namespace {

Result<std::optional<double>> read(const Reading& reading, const std::string& log) {
    if (reading.pattern.empty()) return std::optional<double>();
    const auto number = read_number(reading.pattern, log);
    if (!number) return Error{"no line of " + log + " matches '" + reading.pattern + "'; " + last_line(log)};
    return number;
}

Result<void> read_load(const FinishedBenchRun& run, RunRecord& record) {
    const std::string log = run.file(run.is_own_load() ? "program.log" : "load.log");
    const auto work = read(run.scenario.work, log), latency = read(run.scenario.latency, log);
    if (!work) return work.error();
    if (!latency) return latency.error();
    record.latency = *latency;
    if (*work) {
        const double span = run.scenario.work.seconds;
        record.work = span > 0 ? **work / span * record.seconds : **work;
        if (*record.work <= 0) return Error{"the load tells of no work done: " + short_decimal(**work, 3)};
    }
    return {};
}

Result<void> take_count(const std::string& name, const std::map<std::string, std::uint64_t>& work, RunRecord& record) {
    const auto found = work.find(name);
    if (found != work.end()) {
        record.work = static_cast<double>(found->second);
        return {};
    }
    std::string counted;
    for (const auto& [other, amount] : work) counted += (counted.empty() ? "" : ", ") + other;
    return Error{"the program has not counted '" + name + "' (FlameProbe::count) in the time of the load; " +
                 (counted.empty() ? "it counted nothing" : "it counted: " + counted)};
}

/// Names of the profiles, the program's own first, whose name ends with its pid.
std::vector<std::string> profiles_of(const FinishedBenchRun& run) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run.directory)) {
        if (entry.path().extension() == ".fprobe") names.push_back(entry.path().filename());
    }
    const std::string own = "." + std::to_string(run.pid) + ".fprobe";
    std::sort(names.begin(), names.end(), [&own](const std::string& a, const std::string& b) {
        return std::pair(!a.ends_with(own), a) < std::pair(!b.ends_with(own), b);
    });
    return names;
}

Result<void> read_profiles(const FinishedBenchRun& run, SymbolCache& cache, RunRecord& record) {
    std::vector<std::string> paths;
    for (const std::string& name : profiles_of(run)) {
        record.profiles.push_back(run.name + "/" + name);
        paths.push_back(run.file(name));
    }
    if (paths.empty())
        return Error{"there is no profile: the program used next to no CPU time, or could not be preloaded (see " +
                     run.file("program.log") + ")"};
    const auto totals = profile_totals(paths, {record.from_unix_ns, record.to_unix_ns}, cache, run.events);
    if (!totals) return totals.error();
    record.functions = totals->functions;
    record.waits = totals->waits;
    record.allocations = totals->allocations;
    if (run.events.waits && record.waits.empty())
        record.remarks.push_back("no wait was sampled; 'flameprobe doctor' says whether waits can be measured here");
    if (run.events.allocations && record.allocations.empty())
        record.remarks.push_back(
            "no allocation was sampled: the program made few, or has an allocator of its own (program.log says so)");
    record.samples = totals->samples;
    record.remarks.insert(record.remarks.end(), totals->warnings.begin(), totals->warnings.end());
    std::uint64_t cpu_ns = run.cpu_ns;
    if (run.is_own_load()) cpu_ns -= std::min(cpu_ns, totals->own_cpu_ns);
    record.cpu_seconds = static_cast<double>(cpu_ns) / 1e9;
    record.sampled_share = cpu_ns == 0 ? 0 : static_cast<double>(totals->sampled_ns) / static_cast<double>(cpu_ns);
    if (totals->samples == 0 && record.allocations.empty()) return Error{"no sample fell into the time of the load"};
    const std::string& count = run.scenario.work.count;
    return count.empty() ? Result<void>{} : take_count(count, totals->work, record);
}

}  // namespace

Result<void> read_figures(const FinishedBenchRun& run, SymbolCache& cache, RunRecord& record) {
    auto read = read_load(run, record);
    return read ? read_profiles(run, cache, record) : read;
}

}  // namespace flameprobe::bench

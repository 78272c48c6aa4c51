// The results of one run of one scenario: read from the output of its load and from its profiles, kept as run.json
// beside these.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench_file.hpp"

namespace flameprobe {
class SymbolCache;
}

namespace flameprobe::bench {

/// CPU time during the load, by samples × period.
struct FunctionTime {
    std::uint64_t self_ns = 0;
    std::uint64_t total_ns = 0;  // with what it calls
};

/// What was allocated during the load, estimated from `samples` allocations.
struct FunctionAllocations {
    std::uint64_t bytes = 0, total_bytes = 0;  // by the function itself; with what it calls
    std::uint64_t number = 0;                  // by the function itself
    std::uint64_t samples = 0;
};

/// Threads' time off the CPU in waits that began during the load, by the last frame: futex, epoll_wait, [preempted],
/// ...
using WaitTimes = std::map<std::string, std::uint64_t>;  // nanoseconds

struct RunRecord {
    std::string failure;  // why there are no figures; else empty
    unsigned repetition = 1;
    std::uint64_t from_unix_ns = 0;  // the load's time, which the figures are about
    std::uint64_t to_unix_ns = 0;
    std::vector<std::string> profiles;  // relative to the bench's directory; the program's own first
    double seconds = 0;                 // of the load, or of the program if there is no load
    double cpu_seconds = 0;             // of the program and its children, in that time
    std::optional<double> work;         // units done in that time
    std::optional<double> latency;      // as the load prints it
    std::optional<double> ipc;          // instructions per cycle in that time, if the machine counts them
    std::uint64_t samples = 0;          // in that time
    double sampled_share = 0;           // samples × period, of the CPU time
    std::uint64_t voluntary_switches = 0, involuntary_switches = 0;  // of the program's whole life, as wait4 tells
    std::uint64_t minor_faults = 0, major_faults = 0, peak_kib = 0;
    WaitTimes waits;                   // empty if they were not asked for, or not measured
    std::string answer;                // where the CPU time went
    std::vector<std::string> remarks;  // for a person
    std::map<std::string, FunctionTime> functions;
    std::map<std::string, FunctionAllocations> allocations;  // empty if they were not asked for

    bool ok() const { return failure.empty(); }
    std::optional<double> work_per_second() const;
    /// Where no work is counted the unit is a second of the load.
    double units() const { return work.value_or(seconds); }
    double cpu_ns_per_unit() const;
    /// Summed over threads, so more than `seconds` if several wait at once.
    double blocked_seconds() const;
    double preempted_seconds() const;  // they could run, but others had the CPUs
    /// CPU nanoseconds per unit that one sample stands for.
    double sample_cost() const;
};

/// Calls visit(name in JSON, member) for the members that run.json and the report have without a change.
template <class Run, class Visit>
void visit_counts(Run& run, const Visit& visit) {
    visit("samples", run.samples);
    visit("sampled_share", run.sampled_share);
    visit("voluntary_switches", run.voluntary_switches);
    visit("involuntary_switches", run.involuntary_switches);
    visit("minor_faults", run.minor_faults);
    visit("major_faults", run.major_faults);
    visit("peak_kib", run.peak_kib);
}

/// The text of run.json, and back; `run_name` is what an Error calls it.
std::string run_record_json(const RunRecord& run);
Result<RunRecord> read_run(const std::string& text, const std::string& run_name);

struct FinishedBenchRun {
    const Scenario& scenario;
    const std::string& name;       // its directory, below that of the bench
    const std::string& directory;  // absolute; with program.log, load.log and the profiles
    pid_t pid;                     // of the program
    std::uint64_t cpu_ns;          // CPU time of the program's processes while the load ran
    const Events& events;          // what was asked for beside CPU time

    std::string file(const std::string& of_run) const { return directory + "/" + of_run; }
    bool is_own_load() const { return scenario.load.empty(); }
};

/// Puts work, latency, functions and shares into `record`, which has its window of time already.
Result<void> read_figures(const FinishedBenchRun& run, SymbolCache& cache, RunRecord& record);

/// The first group of the last line of the file that matches, without thousands separators; lines end at carriage
/// returns too (progress lines). Nothing where no line matches or the group is no number.
std::optional<double> read_number(const std::string& pattern, const std::string& file);
/// For an error's message: the last line of the file that is not empty, or that there is none.
std::string last_line(const std::string& file);

}  // namespace flameprobe::bench

// Reads the figures of a run from the output of its load and from its profiles.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "bench_file.hpp"
#include "run_record.hpp"
#include "symbolize/symbol_cache.hpp"

namespace flameprobe::bench {

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

}  // namespace flameprobe::bench

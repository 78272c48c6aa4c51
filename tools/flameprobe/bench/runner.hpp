// One run: starts the program under the profiler, runs the load, ends the program and reads the results.
#pragma once

#include <string>

#include "bench_file.hpp"
#include "outside/own_directory.hpp"
#include "run_record.hpp"
#include "symbolize/symbol_cache.hpp"

namespace flameprobe::bench {

struct RunPlace {
    std::string root;               // the bench's directory, absolute
    std::string run;                // this run's, below it, relative
    const OwnDirectory& directory;  // this run's, in which logs are made
    std::string libraries;          // to preload, with ':' between
    unsigned frequency = 499;
    Events events;
};

/// Never fails as a whole: the record says what went wrong. The run's directory must exist and be empty. If
/// interruption() is set meanwhile, the program is ended in order and the record says so.
RunRecord run_once(const Point& point, unsigned repetition, const RunPlace& place, SymbolCache& cache);

}  // namespace flameprobe::bench

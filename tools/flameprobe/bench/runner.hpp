// One run: start the program under the profiler, load it, end it, read what came of it.
#pragma once

#include <string>

#include "plan.hpp"
#include "run_record.hpp"
#include "symbolize/symbol_cache.hpp"

namespace flameprobe::bench {

struct RunPlace {
    std::string root;     // the bench's directory, absolute
    std::string run;      // this run's, below it, relative
    std::string library;  // libflameprobe.so
    unsigned frequency = 499;
    bool waiting = false;  // where threads wait, too
};

/// Never fails as a whole: what went wrong is in the record. The directory is there and empty. Where interruption() is
/// set meanwhile, the program is ended in order and the record says so.
RunRecord run_once(const Point& point, unsigned repetition, const RunPlace& place, SymbolCache& cache);

}  // namespace flameprobe::bench

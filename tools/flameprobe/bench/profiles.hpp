// CPU time by function from the profiles of a run, and the picture of several runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench_file.hpp"
#include "run_record.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/symbol_cache.hpp"

namespace flameprobe::bench {

/// Unix time in nanoseconds, from inclusive to exclusive.
struct Window {
    std::uint64_t from_ns = 0, to_ns = ~std::uint64_t{0};
};

struct ProfileTotals {
    std::map<std::string, FunctionTime> functions;  // by the name that pictures show; threads are left out
    std::map<std::string, FunctionAllocations> allocations;
    WaitTimes waits;                            // empty if waits were not sampled
    std::map<std::string, std::uint64_t> work;  // units that the program counted, by name
    std::uint64_t samples = 0;
    std::uint64_t sampled_ns = 0;
    std::uint64_t own_cpu_ns = 0;  // FlameProbe's, over the whole life
    std::string answer;            // of the profile with most of the time
    std::vector<std::string> warnings;
};

/// `cache` has names from earlier profiles, and gets new ones. `events`: what to read beside CPU time.
Result<ProfileTotals> profile_totals(const std::vector<std::string>& profiles, const Window& window, SymbolCache& cache,
                                     const Events& events);

/// A run's processes as one profile, as flameprobe-render --diff reads them. `event`: empty for the run's own.
Result<NamedProfile> profile_of_run(const std::vector<std::string>& profiles, const Window& window,
                                    const std::string& event);

struct PictureInput {
    std::string profile;
    Window window;
};
/// One flame graph of all inputs, and its provenance beside it (.txt).
Result<void> write_picture(const std::vector<PictureInput>& inputs, const std::string& title,
                           const std::string& subtitle, const std::string& path, SymbolCache& cache);
/// Draws the SVG file as a PNG, for places where no script runs. An Error if this program was built without librsvg.
Result<void> write_png_of(const std::string& svg_path, const std::string& png_path);

}  // namespace flameprobe::bench

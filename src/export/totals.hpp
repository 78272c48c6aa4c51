// Totals, and names of functions and modules for tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/function_totals.hpp"

namespace flameprobe {

/// Weight of all samples.
std::uint64_t total_weight(const NamedProfile& profile);
/// The number of samples, whatever they weigh, from which noise is computed.
std::uint64_t total_hits(const NamedProfile& profile);

/// The samples' CPU time for each of `units` units of work; nothing where the event is not a clock.
std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units);

/// The samples of one thread, and its weights without samples.
struct ThreadTotal {
    std::uint64_t hits = 0;
    std::uint64_t weight = 0;  // in all
    std::uint64_t lost = 0, not_permitted = 0, throttled = 0;
    std::uint64_t noted() const { return lost + not_permitted + throttled; }
};
/// By ThreadId.
std::vector<ThreadTotal> thread_totals(const NamedProfile& profile);

/// The name as in folded text: one line, `_[k]` and `_[i]` at the end of kernel and inlined functions.
std::string display_name(const NamedProfile& profile, FunctionId function);
/// The last part of the module's path; empty if there is none.
std::string module_name(const NamedProfile& profile, FunctionId function);

}  // namespace flameprobe

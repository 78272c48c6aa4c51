// What tables say of functions: their totals, names and modules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/function_totals.hpp"

namespace flameprobe {

/// Weight of all samples.
std::uint64_t total_weight(const NamedProfile& profile);
/// How many samples there are, whatever they weigh: what noise is counted in.
std::uint64_t total_hits(const NamedProfile& profile);

/// CPU time that the samples stand for, by each of so many units of work; nothing where the event is no clock.
std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units);

/// What a profile shows of one thread: samples, and weights for which there is no sample.
struct ThreadTotal {
    std::uint64_t hits = 0;
    std::uint64_t weight = 0;  // in all
    std::uint64_t lost = 0, not_permitted = 0, throttled = 0;
    std::uint64_t noted() const { return lost + not_permitted + throttled; }
};
/// By ThreadId.
std::vector<ThreadTotal> thread_totals(const NamedProfile& profile);

/// As in folded text: one line, `_[k]` and `_[i]` at the end of kernel and inlined functions.
std::string display_name(const NamedProfile& profile, FunctionId function);
/// The last part of the module's path; empty if there is none.
std::string module_name(const NamedProfile& profile, FunctionId function);

}  // namespace flameprobe

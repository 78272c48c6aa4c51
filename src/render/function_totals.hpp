// The samples of each function: its own, and with its callees.
#pragma once

#include <cstdint>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct FunctionTotal {
    FunctionId function = 0;  // the first of the functions that are shown under one name
    std::uint64_t self = 0;
    std::uint64_t total = 0;  // weight of samples with it anywhere in the stack; a recursive function counts once
    std::uint64_t self_hits = 0, total_hits = 0;  // these samples, whatever they weigh
    Age age;                                      // of `total`, if the profile has_ages
};

struct Totals {
    std::vector<FunctionTotal> functions;  // in the order of function ids; threads are left out
    std::uint64_t samples = 0;
};

/// Weight of all samples.
inline std::uint64_t total_weight(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.weight);
    return all;
}
/// The number of samples, whatever they weigh, from which noise is computed.
inline std::uint64_t total_hits(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.hits);
    return all;
}

/// Functions with equal name, kind and module are one. Takes time in the order of nodes, however deep the stacks.
Totals function_totals(const NamedProfile& profile);

// Functions that a reader cannot tell apart are shown as one, in pictures, tables and totals alike, so that all show
// the same number.

/// For each function the one that is shown in its place: the first with the same name, module and kind.
std::vector<FunctionId> shown_functions(const NamedProfile& profile);

/// For each function its place when all are sorted by name, then kind, module, file, line and id.
std::vector<std::uint32_t> ranks_by_name(const NamedProfile& profile);

}  // namespace flameprobe

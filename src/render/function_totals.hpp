// The samples of each function, its own and with its callees, and what is shown as one function or thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
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

/// The samples' CPU time for each of `units` units of work; nothing where the event is not a clock.
inline std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units) {
    if (units == 0 || profile.run.period_ns == 0) return std::nullopt;
    return static_cast<double>(total_weight(profile)) / static_cast<double>(units);
}

/// The sums of `rows` rows, to one of which each node of the stacks but the first belongs; FunctionTotal::function is
/// left 0. Takes time in the order of nodes.
std::vector<FunctionTotal> sums_of_rows(const NamedProfile& profile, const std::vector<std::uint32_t>& row_of,
                                        std::size_t rows);

/// Functions with equal name, kind and module are one. Takes time in the order of nodes, however deep the stacks.
Totals function_totals(const NamedProfile& profile);

// Functions that a reader cannot tell apart are shown as one, in pictures, tables and totals alike, so that all show
// the same number.

/// For each function the one that is shown in its place: the first with the same name, module and kind.
std::vector<FunctionId> shown_functions(const NamedProfile& profile);

/// For each function its place when all are sorted by name, then kind, module, file, line and id.
std::vector<std::uint32_t> ranks_by_name(const NamedProfile& profile);

// Groups of threads with like names: worker-0 to worker-31 are worker-*.

/// Those of the threads that are in a group, and its name where two names or more differ in their last number only:
/// "worker-*", and of processes "cc1 × 4".
std::map<FunctionId, std::string> thread_groups(const NamedProfile& profile, const std::set<FunctionId>& threads);

/// Gives the threads of a group its name in the stacks; the list of threads stays as it is. In a profile
/// without a run (folded text) the first frame of a stack is the thread.
void merge_threads(NamedProfile& profile);

/// The shown functions where the threads of a group are one box: the group's first member, under the group's name.
struct GatheredThreads {
    std::vector<FunctionId> shown;  // of each function (shown_functions())
    std::map<FunctionId, std::string> names;
};
GatheredThreads gather_threads(const NamedProfile& profile);

}  // namespace flameprobe

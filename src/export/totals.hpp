// Totals, and names of functions and modules for tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/paths.hpp"
#include "export/text.hpp"
#include "render/function_totals.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

/// The samples' CPU time for each of `units` units of work; nothing where the event is not a clock.
inline std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units) {
    if (units == 0 || profile.run.period_ns == 0) return std::nullopt;
    return static_cast<double>(total_weight(profile)) / static_cast<double>(units);
}

/// The samples of one thread, and its weights without samples.
struct ThreadTotal {
    std::uint64_t hits = 0;
    std::uint64_t weight = 0;  // in all
    std::uint64_t lost = 0, not_permitted = 0, throttled = 0;
    std::uint64_t noted() const { return lost + not_permitted + throttled; }
};
/// By ThreadId.
inline std::vector<ThreadTotal> thread_totals(const NamedProfile& profile) {
    std::vector<ThreadTotal> totals(profile.threads.size());
    for (const NamedCount& count : profile.counts) {
        if (count.thread >= totals.size()) continue;
        ThreadTotal& total = totals[count.thread];
        total.hits = add_saturated(total.hits, count.hits);
        total.weight = add_saturated(total.weight, count.weight);
        if (count.node == 0) continue;
        const Function& leaf = profile.function(count.node);
        if (leaf.kind != FrameKind::note) continue;
        const std::string_view name = profile.strings.view(leaf.name);
        for (const auto& [note, sum] :
             {std::pair(Note::lost, &total.lost), std::pair(Note::kernel_not_permitted, &total.not_permitted),
              std::pair(Note::throttled, &total.throttled)})
            if (name == note_text(note)) *sum = add_saturated(*sum, count.weight);
    }
    return totals;
}

/// The name as in folded text: one line, `_[k]` and `_[i]` at the end of kernel and inlined functions.
inline std::string display_name(const NamedProfile& profile, FunctionId id) {
    const Function& function = profile.functions[id];
    return folded_name(profile.strings.view(function.name), function.kind);
}
/// The last part of the module's path; empty if there is none.
inline std::string module_name(const NamedProfile& profile, FunctionId id) {
    return one_line(base_name(profile.strings.view(profile.functions[id].module)));
}

}  // namespace flameprobe

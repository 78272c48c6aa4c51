#include "export/totals.hpp"

#include "export/text.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

std::uint64_t total_weight(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.weight);
    return all;
}

std::uint64_t total_hits(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.hits);
    return all;
}

std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units) {
    if (units == 0 || profile.run.period_ns == 0) return std::nullopt;
    return static_cast<double>(total_weight(profile)) / static_cast<double>(units);
}

std::vector<ThreadTotal> thread_totals(const NamedProfile& profile) {
    std::vector<ThreadTotal> totals(profile.threads.size());
    for (const NamedCount& count : profile.counts) {
        if (count.thread >= totals.size()) continue;
        ThreadTotal& total = totals[count.thread];
        total.hits = add_saturated(total.hits, count.hits);
        total.weight = add_saturated(total.weight, count.weight);
        if (count.node == 0) continue;
        const Function& leaf = profile.functions[profile.frames[profile.nodes[count.node].frame].function];
        if (leaf.kind != FrameKind::note) continue;
        const std::string_view name = profile.strings.view(leaf.name);
        for (const auto& [note, sum] :
             {std::pair(Note::lost, &total.lost), std::pair(Note::kernel_not_permitted, &total.not_permitted),
              std::pair(Note::throttled, &total.throttled)})
            if (name == note_text(note)) *sum = add_saturated(*sum, count.weight);
    }
    return totals;
}

std::string display_name(const NamedProfile& profile, FunctionId id) {
    const Function& function = profile.functions[id];
    return folded_name(profile.strings.view(function.name), function.kind);
}

std::string module_name(const NamedProfile& profile, FunctionId id) {
    const std::string path = one_line(profile.strings.view(profile.functions[id].module));
    return path.substr(path.rfind('/') + 1);
}

}  // namespace flameprobe

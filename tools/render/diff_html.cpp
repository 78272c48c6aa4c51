#include "diff_html.hpp"

namespace flameprobe {

namespace {

std::vector<SideCount> side_counts(const std::vector<std::uint64_t>& weights, const std::vector<std::uint64_t>& hits) {
    std::vector<SideCount> counts;
    counts.reserve(weights.size());
    for (std::size_t at = 0; at < weights.size(); ++at) counts.push_back({weights[at], hits[at]});
    return counts;
}

}  // namespace

Result<void> write_diff_html(ProfileDiff& diff, const DiffNames& names, SortBy by, const std::string& table,
                             const FlameGraphOptions& options, const ByteSink& out) {
    PageSides sides;
    sides.names = {names.before, names.after};
    sides.period_ns = diff.period_ns;
    sides.counts = {side_counts(diff.before, diff.hits_before), side_counts(diff.after, diff.hits_after)};
    sides.facts = diff_facts(diff, names, by);
    sides.summary = table;
    sides.by_self = by == SortBy::self;
    std::swap(diff.profile.functions, diff.known_as);
    auto written = write_comparison_html(diff.profile, sides, options, out);
    std::swap(diff.profile.functions, diff.known_as);
    return written;
}

}  // namespace flameprobe

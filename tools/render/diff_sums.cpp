#include <algorithm>
#include <utility>

#include "diff.hpp"

namespace flameprobe {

DiffSums::DiffSums(const ProfileDiff& diff, const std::vector<bool>& removed)
    : diff_(diff), sums_(diff.profile.functions.size()), wholes_(diff.wholes) {
    const NamedProfile& profile = diff.profile;
    for (const std::size_t side : {0, 1}) {
        self_[side].resize(sums_.size() * diff.clusters[side]);
        total_[side].resize(sums_.size() * diff.clusters[side]);
        std::vector<std::uint32_t>& first = first_[side];
        first.resize(profile.counts.size() + 1);
        for (const Piece& piece : diff.pieces[side]) ++first[piece.count + 1];
        for (std::size_t at = 1; at < first.size(); ++at) first[at] += first[at - 1];
        // What clusters are parts of is all weight that is left, unless it is work.
        if (diff.unit.empty() || diff.runs[side] < 2) std::ranges::fill(wholes_[side], 0);
    }
    std::vector<std::uint32_t> seen(sums_.size());  // the stack, plus one, that counted the function last
    for (std::uint32_t i = 0; i < profile.counts.size(); ++i) {
        if (!removed.empty() && removed[i]) continue;
        all_.total_before += diff.before[i], all_.total_after += diff.after[i];
        all_.total_variance_before += diff.variance_before[i], all_.total_variance_after += diff.variance_after[i];
        for (const std::size_t side : {0, 1})
            if (diff.unit.empty() || diff.runs[side] < 2)
                for (std::uint32_t at = first_[side][i]; at < first_[side][i + 1]; ++at)
                    wholes_[side][diff.pieces[side][at].cluster] += diff.pieces[side][at].weight;
        const NodeId leaf = profile.counts[i].node;
        for (NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
            if (profile.nodes[node].frame >= profile.frames.size()) continue;  // frames left out of a deep stack
            const FunctionId function = profile.function_of(node);
            FunctionSums& sum = sums_[function];
            if (node == leaf) {
                sum.self_before += diff.before[i], sum.self_after += diff.after[i];
                sum.self_variance_before += diff.variance_before[i], sum.self_variance_after += diff.variance_after[i];
                add_clusters(i, function, self_);
            }
            if (std::exchange(seen[function], i + 1) == i + 1) continue;  // recursion counts once
            sum.total_before += diff.before[i], sum.total_after += diff.after[i];
            sum.total_variance_before += diff.variance_before[i], sum.total_variance_after += diff.variance_after[i];
            add_clusters(i, function, total_);
        }
    }
}

void DiffSums::add_clusters(std::size_t count, FunctionId function, Rows& rows) {
    for (const std::size_t side : {0, 1})
        for (std::uint32_t at = first_[side][count]; at < first_[side][count + 1]; ++at) {
            const Piece& piece = diff_.pieces[side][at];
            rows[side][std::size_t{function} * diff_.clusters[side] + piece.cluster] += piece.weight;
        }
}

Spread DiffSums::spread(FunctionId function, bool total) const {
    if (diff_.clusters[0] < 2 && diff_.clusters[1] < 2) return {};
    const FunctionSums& sum = sums_[function];
    const auto side = [&](std::size_t at) {
        const Rows& rows = total ? total_ : self_;
        const bool work = !diff_.unit.empty() && diff_.runs[at] > 1;
        Clusters clusters;
        clusters.count = diff_.clusters[at];
        clusters.part = rows[at].data() + std::size_t{function} * clusters.count;
        clusters.whole = wholes_[at].data();
        const double total_variance = at == 0 ? sum.total_variance_before : sum.total_variance_after,
                     self_variance = at == 0 ? sum.self_variance_before : sum.self_variance_after;
        clusters.variance = total ? total_variance : self_variance;
        clusters.one_run = diff_.runs[at] < 2 && !diff_.of_one_run;
        if (!work) clusters.variance_of = at == 0 ? all_.total_variance_before : all_.total_variance_after;
        return clusters;
    };
    return spread_of(side(0), side(1));
}

double DiffSums::widening(FunctionId function, bool total) const {
    return flameprobe::widening(spread(function, total), diff_.typical_variance);
}

namespace {

double median_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

void widen(ProfileDiff& diff) {
    constexpr double least = 0.005;  // of all weight: what is rarer is not typical
    const DiffSums sums(diff);
    const auto is_typical = [&](const FunctionSums& sum) {
        return static_cast<double>(sum.total_before) > least * static_cast<double>(diff.weight_before) ||
               static_cast<double>(sum.total_after) > least * static_cast<double>(diff.weight_after);
    };
    std::vector<Spread> spreads;
    std::vector<double> widenings;
    for (FunctionId function = 0; function < sums.sums().size(); ++function) {
        if (is_typical(sums.sums()[function])) spreads.push_back(sums.spread(function, true));
    }
    diff.typical_variance = typical_variance(spreads);
    diff.widening_of.assign(diff.profile.functions.size(), {1, 1});
    for (FunctionId function = 0; function < diff.widening_of.size(); ++function) {
        const FunctionSums& sum = sums.sums()[function];
        if (sum.total_before + sum.total_after == 0) continue;
        diff.widening_of[function] = {sums.widening(function, false), sums.widening(function, true)};
        if (is_typical(sum)) widenings.push_back(diff.widening_of[function][1]);
    }
    if (!widenings.empty()) diff.widening = median_of(widenings);
}

std::vector<FunctionChange> function_changes(const ProfileDiff& diff) {
    const DiffSums all(diff);
    std::vector<FunctionChange> changes;
    for (FunctionId function = 0; function < all.sums().size(); ++function) {
        const FunctionSums& sum = all.sums()[function];
        if (sum.total_before == 0 && sum.total_after == 0) continue;
        const auto [self, total] = diff.widening_of[function];
        changes.push_back(
            {function,
             diff.change(sum.self_before, sum.self_after, sum.self_variance_before, sum.self_variance_after, self),
             diff.change(sum.total_before, sum.total_after, sum.total_variance_before, sum.total_variance_after,
                         total)});
    }
    return changes;
}

}  // namespace flameprobe

#include <algorithm>
#include <utility>

#include "diff.hpp"

namespace flameprobe {

namespace {

/// Whether what clusters are parts of is all weight that is left, and not their work.
bool is_of_weight(const ProfileDiff& diff, std::size_t side) { return diff.unit.empty() || diff.runs[side] < 2; }

std::size_t width_of(const ProfileDiff& diff, std::size_t side) { return diff.clusters[side] + diff.threads[side]; }

/// Of nothing the variance is 0, whatever rounding left of it.
void add_variance(double& sum, double variance, int times, std::uint64_t weight) {
    sum = weight == 0 ? 0 : std::max(0.0, sum + times * variance);
}

}  // namespace

DiffSums::DiffSums(const ProfileDiff& diff) : sums_(diff.profile.functions.size()), seen_(sums_.size()) {
    const auto counts = static_cast<std::uint32_t>(diff.profile.counts.size());
    for (const std::size_t side : {0, 1}) {
        self_[side].resize(sums_.size() * width_of(diff, side));
        total_[side].resize(sums_.size() * width_of(diff, side));
        std::vector<std::uint32_t>& first = first_[side];
        first.resize(counts + 1);
        for (const Piece& piece : diff.pieces[side]) ++first[piece.count + 1];
        for (std::size_t at = 1; at < first.size(); ++at) first[at] += first[at - 1];
        weights_[side].resize(width_of(diff, side));
    }
    for (std::uint32_t count = 0; count < counts; ++count) add(diff, count, 1);
}

void DiffSums::add(const ProfileDiff& diff, std::uint32_t count, int times) {
    const NamedProfile& profile = diff.profile;
    const auto sign = static_cast<std::uint64_t>(times);  // modulo 2^64
    const std::uint64_t before = sign * diff.before[count], after = sign * diff.after[count];
    const double variance_before = diff.variance_before[count], variance_after = diff.variance_after[count];
    const auto add_total = [&](FunctionSums& sum) {
        sum.total_before += before, sum.total_after += after;
        add_variance(sum.total_variance_before, variance_before, times, sum.total_before);
        add_variance(sum.total_variance_after, variance_after, times, sum.total_after);
    };
    add_total(all_);
    for (const std::size_t side : {0, 1})
        for (std::uint32_t at = first_[side][count]; at < first_[side][count + 1]; ++at)
            weights_[side][diff.pieces[side][at].cluster] += times * diff.pieces[side][at].weight;
    ++stacks_;
    const NodeId leaf = profile.counts[count].node;
    for (NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
        if (profile.nodes[node].frame >= profile.frames.size()) continue;  // frames left out of a deep stack
        const FunctionId function = profile.function_of(node);
        FunctionSums& sum = sums_[function];
        if (node == leaf) {
            sum.self_before += before, sum.self_after += after;
            add_variance(sum.self_variance_before, variance_before, times, sum.self_before);
            add_variance(sum.self_variance_after, variance_after, times, sum.self_after);
            add_clusters(diff, count, function, times, self_);
        }
        if (std::exchange(seen_[function], stacks_) == stacks_) continue;  // recursion counts once
        add_total(sum);
        add_clusters(diff, count, function, times, total_);
    }
}

void DiffSums::add_clusters(const ProfileDiff& diff, std::uint32_t count, FunctionId function, int times, Rows& rows) {
    for (const std::size_t side : {0, 1})
        for (std::uint32_t at = first_[side][count]; at < first_[side][count + 1]; ++at) {
            const Piece& piece = diff.pieces[side][at];
            rows[side][function * width_of(diff, side) + piece.cluster] += times * piece.weight;
        }
}

Spread DiffSums::spread(const ProfileDiff& diff, FunctionId function, bool total) const {
    if (diff.clusters[0] < 2 && diff.clusters[1] < 2) return {};
    const FunctionSums& sum = sums_[function];
    const auto side = [&](std::size_t at) {
        const Rows& rows = total ? total_ : self_;
        Clusters clusters;
        clusters.count = diff.clusters[at];
        clusters.threads = diff.threads[at];
        clusters.part = rows[at].data() + function * width_of(diff, at);
        clusters.whole = is_of_weight(diff, at) ? weights_[at].data() : diff.wholes[at].data();
        const double total_variance = at == 0 ? sum.total_variance_before : sum.total_variance_after,
                     self_variance = at == 0 ? sum.self_variance_before : sum.self_variance_after;
        clusters.variance = total ? total_variance : self_variance;
        clusters.one_run = diff.runs[at] < 2 && !diff.of_one_run;
        if (diff.profile.functions[function].kind == FrameKind::kernel) clusters.between = between_runs_of_kernel;
        if (is_of_weight(diff, at))
            clusters.variance_of = at == 0 ? all_.total_variance_before : all_.total_variance_after;
        return clusters;
    };
    return spread_of(side(0), side(1));
}

double DiffSums::widening_of_all(const ProfileDiff& diff) const {
    if (diff.unit.empty() || is_of_weight(diff, 0) || is_of_weight(diff, 1)) return diff.widening;
    const auto side = [&](std::size_t at) {
        return Clusters{.part = weights_[at].data(),
                        .whole = diff.wholes[at].data(),
                        .count = diff.clusters[at],
                        .variance = at == 0 ? all_.total_variance_before : all_.total_variance_after};
    };
    return flameprobe::widening(spread_of(side(0), side(1)), diff.typical_variance);
}

double DiffSums::widening(const ProfileDiff& diff, FunctionId function, bool total) const {
    return flameprobe::widening(spread(diff, function, total), diff.typical_variance);
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
    const auto made = std::make_shared<const DiffSums>(diff);
    const DiffSums& sums = *made;
    diff.sums = made;
    const auto is_typical = [&](const FunctionSums& sum) {
        return static_cast<double>(sum.total_before) > least * static_cast<double>(diff.weight_before) ||
               static_cast<double>(sum.total_after) > least * static_cast<double>(diff.weight_after);
    };
    std::vector<Spread> spreads;
    std::vector<double> widenings;
    for (FunctionId function = 0; function < sums.sums().size(); ++function) {
        if (is_typical(sums.sums()[function])) spreads.push_back(sums.spread(diff, function, true));
    }
    diff.typical_variance = typical_variance(spreads);
    diff.widening_of.assign(diff.profile.functions.size(), {1, 1});
    for (FunctionId function = 0; function < diff.widening_of.size(); ++function) {
        const FunctionSums& sum = sums.sums()[function];
        if (sum.total_before + sum.total_after == 0) continue;
        diff.widening_of[function] = {sums.widening(diff, function, false), sums.widening(diff, function, true)};
        if (is_typical(sum)) widenings.push_back(diff.widening_of[function][1]);
    }
    if (!widenings.empty()) diff.widening = median_of(widenings);
}

std::vector<FunctionChange> function_changes(const ProfileDiff& diff) {
    const std::vector<FunctionSums>& sums = diff.sums->sums();
    std::vector<FunctionChange> changes;
    for (FunctionId function = 0; function < sums.size(); ++function) {
        const FunctionSums& sum = sums[function];
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

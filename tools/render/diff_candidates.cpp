#include "diff_candidates.hpp"

#include <algorithm>

namespace flameprobe {

namespace {

Change change_among(const ProfileDiff& diff, const FunctionSums& sum, bool own_code, const FunctionSums& all,
                    double widening) {
    const std::uint64_t larger = std::max(diff.weight_before, diff.weight_after);
    const bool amounts = diff.by_amount;
    return Change({own_code ? sum.self_before : sum.total_before, amounts ? larger : all.total_before,
                   own_code ? sum.self_variance_before : sum.total_variance_before, all.total_variance_before},
                  {own_code ? sum.self_after : sum.total_after, amounts ? larger : all.total_after,
                   own_code ? sum.self_variance_after : sum.total_variance_after, all.total_variance_after},
                  amounts, widening);
}

}  // namespace

double growth_of(double before, double after) {
    const double least = std::clamp(after, 0.0, most_share);
    return (1 - before) * least / (1 - least) - before;
}

std::vector<Candidate> candidates_of(const ProfileDiff& diff, const DiffSums& sums) {
    constexpr double least_tested = 0.005;  // of the whole, on the larger side
    std::vector<Candidate> list;
    const auto candidate = [&](FunctionId function, bool everything, bool own_code, const FunctionSums& sum,
                               double widening) {
        const Change change = change_among(diff, sum, own_code, sums.all(), widening);
        const double before = change.before().value(), after = change.after().value();
        // Of shares, a part explains as much as all that is not part of it.
        const double other = diff.by_amount ? 2 : std::max(2 - before - after, 1e-9);
        const double difference = change.difference();
        return Candidate{function, everything, own_code,
                         difference * difference / std::max(1e-9, (before + after) * other), change};
    };
    const std::uint64_t larger = std::max(diff.weight_before, diff.weight_after);
    const auto whole_before = static_cast<double>(diff.by_amount ? larger : sums.all().total_before),
               whole_after = static_cast<double>(diff.by_amount ? larger : sums.all().total_after);
    const auto is_tested = [&](std::uint64_t before, std::uint64_t after) {
        return static_cast<double>(before) >= least_tested * whole_before ||
               static_cast<double>(after) >= least_tested * whole_after;
    };
    const FunctionSums& all = sums.all();
    if (diff.by_amount && is_tested(all.total_before, all.total_after))
        list.push_back(candidate(0, true, false, all, sums.widening_of_all(diff)));
    for (FunctionId function = 0; function < sums.sums().size(); ++function) {
        const FunctionSums& sum = sums.sums()[function];
        const bool is_thread = diff.descriptions[function].kind == FrameKind::thread;
        if (sum.total_before + sum.total_after == 0 || is_thread || !is_tested(sum.total_before, sum.total_after))
            continue;
        const Candidate total = candidate(function, false, false, sum, sums.widening(diff, function, true));
        list.push_back(total);
        // What moves between a function and what it calls, and changes neither, may be another compiler's lines.
        constexpr double whole = 0.95;
        const bool is_whole = std::min(total.change.before().value(), total.change.after().value()) > whole;
        const bool ends_here = sum.self_before == sum.total_before && sum.self_after == sum.total_after;
        if (ends_here || (total.change.is_noise() && !is_whole)) continue;
        const Candidate own = candidate(function, false, true, sum, sums.widening(diff, function, false));
        if (!is_tested(sum.self_before, sum.self_after)) continue;
        if (is_whole || own.change.difference() * total.change.difference() > 0) list.push_back(own);
    }
    return list;
}

}  // namespace flameprobe

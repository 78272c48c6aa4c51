#include "compare/clusters.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace flameprobe {

namespace {

struct SideSpread {
    double drawn = 0, seen = 0, freedom = 0, between = 0, of_odds = 0;
};

/// The variance of the ratio of the sums (Cochran, Sampling Techniques, 6.4): as drawn at random, and as the clusters
/// differ.
SideSpread spread_of_side(const Clusters& side) {
    double part = 0, whole = 0;
    for (std::size_t at = 0; at < side.count; ++at) part += side.part[at], whole += side.whole[at];
    SideSpread spread;
    if (whole <= 0) return spread;
    const double ratio = part / whole, rest = std::max(0.0, side.variance_of - side.variance);
    spread.drawn = side.variance_of > 0
                       ? ((1 - ratio) * (1 - ratio) * side.variance + ratio * ratio * rest) / (whole * whole)
                       : side.variance / (whole * whole);
    spread.seen = spread.drawn;
    if (side.count < 2) return spread;
    const auto squares_of = [&](std::size_t from, std::size_t to) {
        double squares = 0;
        for (std::size_t at = from; at < to; ++at) squares += std::pow(side.part[at] - ratio * side.whole[at], 2);
        return squares;
    };
    const double squares = squares_of(0, side.count);
    const auto count = static_cast<double>(side.count);
    spread.seen = squares * count / (count - 1) / (whole * whole);
    spread.freedom = count - 1;
    // Of amounts it is the logarithm that varies.
    spread.of_odds = std::pow(side.variance_of > 0 ? ratio * std::max(0.0, 1 - ratio) : ratio, 2) / count;
    if (side.one_run)
        spread.between =
            side.between * side.between * count * spread.of_odds +
            between_threads * between_threads * squares_of(side.count, side.count + side.threads) / (whole * whole);
    return spread;
}

/// Two-sided, 99.9 %.
double t_quantile(double freedom) {
    static std::map<int, double> known;  // by tenths
    const int tenths = static_cast<int>(std::clamp(freedom, 1.0, 1e4) * 10);
    const auto [at, is_new] = known.try_emplace(tenths, 0);
    if (is_new) at->second = boost::math::quantile(boost::math::students_t(tenths / 10.0), 0.9995);
    return at->second;
}

/// What chance alone gives the ratio of two variances in 19 of 20 cases.
double usual_most(double freedom) {
    static std::map<int, double> known;
    const int tenths = static_cast<int>(std::clamp(freedom, 1.0, 1e4) * 10);
    const auto [at, is_new] = known.try_emplace(tenths, 0);
    if (is_new) at->second = boost::math::quantile(boost::math::chi_squared(tenths / 10.0), 0.95) / (tenths / 10.0);
    return at->second;
}

}  // namespace

Spread spread_of(const Clusters& before, const Clusters& after) {
    const std::array<SideSpread, 2> sides = {spread_of_side(before), spread_of_side(after)};
    double drawn = 0, seen = 0, between = 0, of_odds = 0, uncertain = 0;
    for (const SideSpread& side : sides) {
        drawn += side.drawn, seen += side.seen, between += side.between, of_odds += side.of_odds;
        if (side.freedom > 0) uncertain += side.seen * side.seen / side.freedom;
    }
    if (drawn <= 0) return {};
    const double freedom = uncertain > 0 ? seen * seen / uncertain : 0;  // Welch, Satterthwaite
    return {seen / drawn, freedom, between / drawn, of_odds / drawn};
}

double typical_variance(const std::vector<Spread>& functions) {
    std::vector<std::pair<double, double>> variances;  // with weights
    double whole = 0;
    for (const Spread& its : functions) {
        if (its.freedom <= 0 || its.of_odds <= 0) continue;
        const double unbiased = its.seen / std::pow(1 - 2 / (9 * its.freedom), 3);  // Wilson and Hilferty: the median
        variances.emplace_back((unbiased - 1) / its.of_odds, its.of_odds);
        whole += its.of_odds;
    }
    std::ranges::sort(variances);
    for (double below = 0; const auto& [variance, weight] : variances)
        if ((below += weight) >= whole / 2) return std::max(0.0, variance);
    return 0;
}

double widening(const Spread& its, double typical) {
    if (its.freedom <= 0) return 1 + its.between;
    const double usual = 1 + typical * its.of_odds;
    double seen = its.seen, freedom = its.freedom;
    if (seen <= usual * usual_most(freedom)) seen = (seen + 3 * usual) / 4, freedom *= 4;
    if (seen <= 1 && its.between == 0) return 1;
    // Of all that is added only what clusters show is uncertain.
    const double shown = std::max(1.0, seen), all = shown + its.between;
    const double more = t_quantile(freedom * all * all / (shown * shown)) / z_of_999_in_1000;
    return all * std::max(1.0, more * more);
}

}  // namespace flameprobe

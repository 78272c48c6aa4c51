#include "compare/clusters.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace flameprobe {

namespace {

struct Spread {
    double drawn = 0, seen = 0, freedom = 0, between = 0;
};

/// The variance of the ratio of the sums (Cochran, Sampling Techniques, 6.4): as drawn at random, and as the clusters
/// differ.
Spread spread_of(const Clusters& side) {
    double part = 0, whole = 0;
    for (std::size_t at = 0; at < side.count; ++at) part += side.part[at], whole += side.whole[at];
    Spread spread;
    if (whole <= 0) return spread;
    const double ratio = part / whole, rest = std::max(0.0, side.variance_of - side.variance);
    spread.drawn = side.variance_of > 0
                       ? ((1 - ratio) * (1 - ratio) * side.variance + ratio * ratio * rest) / (whole * whole)
                       : side.variance / (whole * whole);
    if (side.count < 2) return spread;
    double squares = 0;
    for (std::size_t at = 0; at < side.count; ++at) {
        const double miss = side.part[at] - ratio * side.whole[at];
        squares += miss * miss;
    }
    const auto count = static_cast<double>(side.count);
    spread.seen = squares * count / (count - 1) / (whole * whole);
    spread.freedom = count - 1;
    spread.between = side.one_run ? std::pow(between_runs * ratio * std::max(0.0, 1 - ratio), 2) : 0;
    return spread;
}

/// Two-sided, 99.9 %.
double t_quantile(double freedom) {
    static std::map<int, double> known;  // by tenths
    const int tenths = std::max(10, static_cast<int>(freedom * 10));
    const auto [at, is_new] = known.try_emplace(tenths, 0);
    if (is_new) at->second = boost::math::quantile(boost::math::students_t(tenths / 10.0), 0.9995);
    return at->second;
}

}  // namespace

double widening(const Clusters& before, const Clusters& after) {
    const Spread sides[] = {spread_of(before), spread_of(after)};
    double drawn = 0, all = 0, uncertain = 0;
    for (const Spread& side : sides) {
        const double its = std::max(side.drawn, side.seen);
        drawn += side.drawn;
        all += its + side.between;
        if (side.seen > side.drawn) uncertain += its * its / side.freedom;
    }
    if (drawn <= 0 || all <= drawn) return 1;
    const double freedom = uncertain > 0 ? std::min(all * all / uncertain, 1e4) : 1e4;  // Welch, Satterthwaite
    const double more = t_quantile(freedom) / z_of_999_in_1000;
    return all / drawn * std::max(1.0, more * more);
}

}  // namespace flameprobe

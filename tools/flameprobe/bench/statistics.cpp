#include "statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace flameprobe::bench {

namespace {

struct Moments {
    double mean = 0, variance = 0, count = 0;
};

Moments moments(const std::vector<double>& values, double floor = 0) {
    Moments m;
    m.count = static_cast<double>(values.size());
    m.mean = mean_of(values);
    for (const double value : values) m.variance += (value - m.mean) * (value - m.mean);
    m.variance = values.size() > 1 ? std::max(floor, m.variance / (m.count - 1)) : 0;
    return m;
}

double two_sided_p(double t, double freedom) {
    const boost::math::students_t distribution(freedom);
    return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

}  // namespace

double mean_of(const std::vector<double>& values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double t_quantile(double freedom) { return boost::math::quantile(boost::math::students_t(freedom), 0.975); }

Interval interval_of(const std::vector<double>& values, double floor) {
    const Moments m = moments(values, floor);
    Interval interval{m.mean, {}, {}};
    if (values.size() < 2) return interval;
    const double half = t_quantile(m.count - 1) * std::sqrt(m.variance / m.count);
    interval.low = m.mean - half;
    interval.high = m.mean + half;
    return interval;
}

std::vector<bool> discoveries(const std::vector<double>& p, double rate) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&p](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    std::size_t rejected = 0;  // the largest k with p_(k) <= k/m * rate, and all before it
    for (std::size_t k = 1; k <= order.size(); ++k) {
        if (p[order[k - 1]] <= static_cast<double>(k) / static_cast<double>(p.size()) * rate) rejected = k;
    }
    std::vector<bool> found(p.size());
    for (std::size_t k = 0; k < rejected; ++k) found[order[k]] = true;
    return found;
}

Line fit_line(const std::vector<double>& x, const std::vector<double>& y, double floor) {
    const Moments mx = moments(x), my = moments(y);
    double xx = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mx.mean) * (x[i] - mx.mean);
        xy += (x[i] - mx.mean) * (y[i] - my.mean);
    }
    Line line;
    line.intercept = my.mean;
    if (xx <= 0) return line;
    line.slope = xy / xx;
    line.intercept = my.mean - line.slope * mx.mean;
    if (x.size() < 3) return line;
    double rest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double miss = y[i] - line.intercept - line.slope * x[i];
        rest += miss * miss;
    }
    const double freedom = mx.count - 2;
    line.error = std::sqrt(std::max(floor, rest / freedom) / xx);
    if (*line.error > 0)
        line.p = two_sided_p(line.slope / *line.error, freedom);
    else if (line.slope != 0)
        line.p = 0;
    return line;
}

}  // namespace flameprobe::bench

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

/// Welch's test of two means; `more`: additional variance of their difference, `lost`: degrees of freedom that it
/// costs.
Comparison welch(const Moments& a, const Moments& b, double more, double lost) {
    Comparison comparison{a.mean, b.mean, b.mean - a.mean, {}, {}, 1};
    if (a.count < 2 || b.count < 2) return comparison;
    const double va = a.variance / a.count, vb = b.variance / b.count, error = std::sqrt(va + vb + more);
    const double difference = comparison.difference;
    if (error <= 1e-12 * std::max(std::abs(a.mean), std::abs(b.mean))) {  // no noise at all
        comparison.low = comparison.high = difference;
        comparison.p = std::abs(difference) <= 1e-9 * std::abs(a.mean) ? 1 : 0;
        return comparison;
    }
    // Welch and Satterthwaite.
    const double freedom =
        std::max(1.0, (va + vb) * (va + vb) / (va * va / (a.count - 1) + vb * vb / (b.count - 1)) - lost);
    comparison.p = two_sided_p(difference / error, freedom);
    comparison.low = difference - t_quantile(freedom) * error;
    comparison.high = difference + t_quantile(freedom) * error;
    return comparison;
}

/// Σ (x − mean x)(y − mean y).
double products(const std::vector<double>& x, const std::vector<double>& y) {
    const double mx = mean_of(x), my = mean_of(y);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - mx) * (y[i] - my);
    return sum;
}

/// The factor by which the variance of a mean exceeds that of independent values, from the correlation ρ of each value
/// with the next (an autoregressive process of first order). The estimate of ρ from n values is too low by about (1 + 3
/// ρ) / n (Marriott and Pope 1954).
double serial_inflation(const std::vector<double>& before, const std::vector<double>& after) {
    constexpr double least_count = 5, most_correlation = 0.8;
    const double count = static_cast<double>(std::min(before.size(), after.size()));
    double squares = 0, neighbours = 0;
    for (const auto* values : {&before, &after}) {
        const double mean = mean_of(*values);
        for (std::size_t i = 0; i < values->size(); ++i) {
            squares += ((*values)[i] - mean) * ((*values)[i] - mean);
            if (i > 0) neighbours += ((*values)[i] - mean) * ((*values)[i - 1] - mean);
        }
    }
    if (count < least_count || squares <= 0) return 1;
    const double correlation = std::clamp((neighbours / squares + 1 / count) / (1 - 3 / count), 0.0, most_correlation);
    return (1 + correlation) / (1 - correlation);
}

std::vector<double> without_slope(std::vector<double> y, const std::vector<double>& x, double slope, double middle) {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= slope * (x[i] - middle);
    return y;
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

Comparison compare_means(const Sample& before, const Sample& after) {
    const Moments a = moments(before.values, before.floor), b = moments(after.values, after.floor);
    return welch(a, b, 0, 0);
}

Comparison compare_series(const Sample& before, const Sample& after) {
    Moments a = moments(before.values, before.floor), b = moments(after.values, after.floor);
    const double inflation = serial_inflation(before.values, after.values);
    a.variance *= inflation;
    b.variance *= inflation;
    return welch(a, b, 0, 0);
}

Comparison compare_pairs(const std::vector<double>& before, const std::vector<double>& after) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < before.size(); ++i) differences.push_back(after[i] - before[i]);
    Moments nothing;
    nothing.count = static_cast<double>(differences.size());
    Comparison comparison = welch(nothing, moments(differences), 0, 0);
    comparison.before = mean_of(before);
    comparison.after = mean_of(after);
    return comparison;
}

Comparison compare_adjusted(const Sample& before, const Sample& after, const Covariate& covariate) {
    constexpr double in_step_spread = 0.25;  // standard deviation of slopes before the values are seen, 1 being in step
    const Moments xa = moments(covariate.before), xb = moments(covariate.after);
    const double freedom = xa.count + xb.count - 3, xx = (xa.count - 1) * xa.variance + (xb.count - 1) * xb.variance;
    const double in_step = (mean_of(before.values) + mean_of(after.values)) / (xa.mean + xb.mean);
    if (std::min(xa.count, xb.count) < 2 || freedom < 3 || xx <= 0 || !(in_step > 0))
        return compare_means(before, after);
    const double middle = (xa.count * xa.mean + xb.count * xb.mean) / (xa.count + xb.count);
    const auto rest = [&](const Sample& sample, const std::vector<double>& x, double slope) {
        return moments(without_slope(sample.values, x, slope, middle), sample.floor);
    };
    const auto pooled = [&](double slope) {
        const Moments a = rest(before, covariate.before, slope), b = rest(after, covariate.after, slope);
        return ((a.count - 1) * a.variance + (b.count - 1) * b.variance) / freedom;
    };
    // The slope is badly known from few runs, so the estimate is combined with a normal prior. A slope above 1 (in
    // step) has other reasons than the covariate, so it counts as 1.
    const double estimate = (products(covariate.before, before.values) + products(covariate.after, after.values)) / xx;
    const double noise = pooled(estimate) / (in_step * in_step * xx), usual = in_step_spread * in_step_spread;
    const double slope = in_step * std::clamp((usual * estimate / in_step + noise) / (usual + noise), 0.0, 1.0);
    const double gap = (xb.mean - xa.mean) * in_step;
    Comparison comparison =
        welch(rest(before, covariate.before, slope), rest(after, covariate.after, slope),
              gap * gap * usual * noise / (usual + noise) + slope * slope * covariate.gap_variance, 1);
    comparison.before = mean_of(before.values);
    comparison.after = mean_of(after.values);
    return comparison;
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

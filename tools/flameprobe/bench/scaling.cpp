#include "scaling.hpp"

#include <array>
#include <cmath>
#include <set>

#include "statistics.hpp"

namespace flameprobe::bench {

namespace {

constexpr std::size_t most = 3;
using Matrix = std::array<std::array<double, most>, most>;
using Vector = std::array<double, most>;

/// Gauss-Jordan elimination with pivots; false if the matrix is singular.
bool invert(Matrix a, std::size_t size, Matrix& inverse) {
    inverse = {};
    for (std::size_t i = 0; i < size; ++i) inverse[i][i] = 1;
    for (std::size_t column = 0; column < size; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column; row < size; ++row) {
            if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
        }
        if (std::abs(a[pivot][column]) < 1e-300) return false;
        std::swap(a[pivot], a[column]);
        std::swap(inverse[pivot], inverse[column]);
        const double scale = a[column][column];
        for (std::size_t i = 0; i < size; ++i) {
            a[column][i] /= scale;
            inverse[column][i] /= scale;
        }
        for (std::size_t row = 0; row < size; ++row) {
            const double factor = a[row][column];
            if (row == column || factor == 0) continue;
            for (std::size_t i = 0; i < size; ++i) {
                a[row][i] -= factor * a[column][i];
                inverse[row][i] -= factor * inverse[column][i];
            }
        }
    }
    return true;
}

/// N/X = a + b(N−1) + cN(N−1), with a = 1/λ, b = σ/λ, c = κ/λ, is linear. Weighted by X/N, so that relative errors of X
/// count alike.
struct Linear {
    Vector coefficients{};
    Matrix covariance{};
    double freedom = 0;
    bool solved = false;
};

Linear solve(const std::vector<double>& n, const std::vector<double>& x, std::size_t size) {
    const auto row = [](double at) { return Vector{1, at - 1, at * (at - 1)}; };
    Matrix normal{}, inverse{};
    Vector right{};
    for (std::size_t i = 0; i < n.size(); ++i) {
        const Vector terms = row(n[i]);
        const double y = n[i] / x[i], weight = 1 / (y * y);
        for (std::size_t j = 0; j < size; ++j) {
            right[j] += weight * terms[j] * y;
            for (std::size_t k = 0; k < size; ++k) normal[j][k] += weight * terms[j] * terms[k];
        }
    }
    Linear linear;
    if (!invert(normal, size, inverse)) return linear;
    for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t k = 0; k < size; ++k) linear.coefficients[j] += inverse[j][k] * right[k];
    }
    double rest = 0;
    for (std::size_t i = 0; i < n.size(); ++i) {
        const Vector terms = row(n[i]);
        double fitted = 0;
        for (std::size_t j = 0; j < size; ++j) fitted += linear.coefficients[j] * terms[j];
        const double miss = fitted * x[i] / n[i] - 1;
        rest += miss * miss;
    }
    linear.freedom = static_cast<double>(n.size()) - static_cast<double>(size);
    for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t k = 0; k < size; ++k)
            linear.covariance[j][k] = linear.freedom > 0 ? inverse[j][k] * rest / linear.freedom : 0;
    }
    linear.solved = linear.coefficients[0] > 0;
    return linear;
}

Parameter with_error(double value, double variance, double freedom) {
    Parameter parameter{value, {}, {}};
    if (freedom <= 0) return parameter;
    const double half = t_quantile(freedom) * std::sqrt(std::max(0.0, variance));
    parameter.low = value - half;
    parameter.high = value + half;
    return parameter;
}

/// c_j / c_0 with its interval, by the delta method.
Parameter ratio(const Linear& linear, std::size_t j) {
    const double a = linear.coefficients[0], value = linear.coefficients[j] / a;
    const Matrix& cov = linear.covariance;
    const double variance = (cov[j][j] - 2 * value * cov[0][j] + value * value * cov[0][0]) / (a * a);
    return with_error(value, variance, linear.freedom);
}

double explained(const ScalingFit& fit, const std::vector<double>& n, const std::vector<double>& x) {
    double mean = 0, rest = 0, all = 0;
    for (const double value : x) mean += value / static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        rest += (x[i] - fit.at(n[i])) * (x[i] - fit.at(n[i]));
        all += (x[i] - mean) * (x[i] - mean);
    }
    return all > 0 ? 1 - rest / all : 1;
}

ScalingFit fit_law(const std::vector<double>& n, const std::vector<double>& x, std::size_t size) {
    ScalingFit fit;
    const std::size_t different = std::set<double>(n.begin(), n.end()).size();
    if (different < size) {
        fit.why_not = "needs " + std::to_string(size) + " different values, and there are " + std::to_string(different);
        return fit;
    }
    const Linear linear = solve(n, x, size);
    if (!linear.solved) {
        fit.why_not = "the law does not describe these figures";
        return fit;
    }
    const double a = linear.coefficients[0];
    fit.valid = true;
    fit.lambda = with_error(1 / a, linear.covariance[0][0] / (a * a * a * a), linear.freedom);
    fit.sigma = ratio(linear, 1);
    if (size == 3) fit.kappa = ratio(linear, 2);
    fit.r_squared = explained(fit, n, x);
    if (fit.kappa.value > 0 && fit.sigma.value < 1) fit.best_n = std::sqrt((1 - fit.sigma.value) / fit.kappa.value);
    return fit;
}

}  // namespace

double ScalingFit::at(double n) const {
    return lambda.value * n / (1 + sigma.value * (n - 1) + kappa.value * n * (n - 1));
}

ScalingFit fit_amdahl(const std::vector<double>& n, const std::vector<double>& x) { return fit_law(n, x, 2); }
ScalingFit fit_usl(const std::vector<double>& n, const std::vector<double>& x) { return fit_law(n, x, 3); }

}  // namespace flameprobe::bench

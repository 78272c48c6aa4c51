#include "scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "document.hpp"
#include "figures.hpp"
#include "render/text.hpp"
#include "report.hpp"
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

namespace {

// Below the plot there are two rows of what its lines mean, so that letters have a size on a phone, too.
constexpr double width = 520, height = 344, left = 70, right = 10, bottom = 84, top = 28;
constexpr double shown_width = 600;
constexpr int steps = 4;  // about so many between the ticks of the upright axis

/// 1, 2 or 5 times a power of ten, at least as large as asked for.
double round_step(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double of : {1.0, 2.0, 5.0})
        if (of * power >= least * (1 - 1e-9)) return of * power;
    return 10 * power;
}

class Drawing {
public:
    Drawing(const ScalingReport& scaling, const std::string& unit) : scaling_(scaling) {
        double highest = 0;
        for (const ScalingRow& row : scaling.rows) {
            most_n_ = std::max(most_n_, row.n);
            highest = std::max(highest, row.throughput.high.value_or(row.throughput.mean));
        }
        step_ = round_step(std::max(highest, 1e-300) / steps);
        most_x_ = step_ * std::ceil(highest / step_ - 1e-9);
        axes(unit);
        ideal();
        curve(scaling.amdahl, "#2f9e6b", "Amdahl's law");
        curve(scaling.usl, "#d1652b", "Universal Scalability Law");
        points();
    }
    std::string svg() const {
        return "<svg viewBox=\"0 0 " + short_decimal(width, 0) + " " + short_decimal(height, 0) + "\" width=\"" +
               short_decimal(shown_width, 0) +
               "\" style=\"max-width:100%\" font-size=\"12\" fill=\"currentColor\" role=\"img\" "
               "aria-label=\"throughput over " +
               html_escaped(scaling_.variable) + "\">" + out_ + "</svg>";
    }

private:
    double x(double n) const { return left + n / most_n_ * (width - left - right); }
    double y(double value) const { return height - bottom - value / most_x_ * (height - bottom - top); }
    static std::string number(double value) { return short_decimal(value, 1); }

    void line(double x1, double y1, double x2, double y2, const std::string& look) {
        out_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
                number(y2) + "\" stroke=\"currentColor\"" + look + "/>";
    }
    void text(double at_x, double at_y, const std::string& what, const std::string& anchor) {
        out_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" text-anchor=\"" + anchor + "\">" +
                html_escaped(what) + "</text>";
    }
    /// A sample of the line, and what it is.
    void legend(const std::string& sample, const std::string& what) {
        const double from = left + (entries_ % 2) * (width - left) / 2, at = height - 28 + 20 * (entries_ / 2);
        ++entries_;
        out_ += "<g transform=\"translate(" + number(from) + " " + number(at) + ")\">" + sample + "</g>";
        text(from + 32, at + 4, what, "start");
    }
    void axes(const std::string& unit) {
        line(left, y(0), width - right, y(0), "");
        line(left, y(0), left, top, "");
        for (double value = 0; value <= most_x_ * (1 + 1e-9); value += step_) {
            if (value > 0) line(left, y(value), width - right, y(value), " stroke-opacity=\".15\"");
            text(left - 6, y(value) + 4, value < 1000 ? short_decimal(value, 6) : rate_text(value), "end");
        }
        for (const ScalingRow& row : scaling_.rows)
            text(x(row.n), height - bottom + 16, short_decimal(row.n, 2), "middle");
        text(width - right, height - bottom + 34, scaling_.variable, "end");
        text(4, 12, unit + "/s", "start");
    }
    /// As much more throughput as there is more of the variable, as far as it is in the plot.
    void ideal() {
        const ScalingRow& first = scaling_.rows.front();
        const double each = first.throughput.mean / first.n;
        const double end = each > 0 ? std::min(most_n_, most_x_ / each) : most_n_;
        const std::string look = " stroke-dasharray=\"4 4\" stroke-opacity=\".6\"";
        line(x(first.n), y(first.throughput.mean), x(end), y(each * end), look);
        legend("<line x2=\"24\" stroke=\"currentColor\"" + look + "/>", "ideal: in proportion");
    }
    void curve(const ScalingFit& fit, const std::string& colour, const std::string& name) {
        if (!fit.valid) return;
        const double first = scaling_.rows.front().n;
        std::string path;
        for (int i = 0; i <= 60; ++i) {
            const double n = first + (most_n_ - first) * i / 60;
            const double value = std::clamp(fit.at(n), 0.0, most_x_);
            path += (path.empty() ? "M" : "L") + number(x(n)) + " " + number(y(value));
        }
        const std::string look = "fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\"";
        out_ += "<path d=\"" + path + "\" " + look + "/>";
        legend("<path d=\"M0 0h24\" " + look + "/>", name);
    }
    void points() {
        for (const ScalingRow& row : scaling_.rows) {
            const Interval& interval = row.throughput;
            if (interval.low) line(x(row.n), y(std::max(0.0, *interval.low)), x(row.n), y(*interval.high), "");
            out_ += "<circle cx=\"" + number(x(row.n)) + "\" cy=\"" + number(y(interval.mean)) + "\" r=\"4\"><title>" +
                    html_escaped(rate_text(interval)) + "</title></circle>";
        }
        legend("<path d=\"M12 -8v16\" stroke=\"currentColor\"/><circle cx=\"12\" r=\"4\"/>", "measured, 95 %");
    }

    const ScalingReport& scaling_;
    double most_n_ = 0, most_x_ = 0, step_ = 1;
    int entries_ = 0;
    std::string out_;
};

}  // namespace

std::string scaling_chart(const ScalingReport& scaling, const std::string& unit) {
    return Drawing(scaling, unit).svg();
}

}  // namespace flameprobe::bench

#include "scaling_chart.hpp"

#include <algorithm>
#include <cmath>

#include "document.hpp"
#include "figures.hpp"
#include "render/numbers.hpp"

namespace flameprobe::bench {

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

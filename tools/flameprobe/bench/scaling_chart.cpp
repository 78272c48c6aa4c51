#include "scaling_chart.hpp"

#include <algorithm>

#include "document.hpp"
#include "figures.hpp"
#include "render/numbers.hpp"

namespace flameprobe::bench {

namespace {

constexpr double width = 560, height = 300, left = 80, bottom = 40, margin = 16;

class Drawing {
public:
    Drawing(const ScalingReport& scaling, const std::string& unit) : scaling_(scaling) {
        for (const ScalingRow& row : scaling.rows) {
            most_n_ = std::max(most_n_, row.n);
            most_x_ = std::max(most_x_, row.throughput.high.value_or(row.throughput.mean));
        }
        axes(unit);
        curve(scaling.amdahl, "#4a7", "Amdahl");
        curve(scaling.usl, "#c63", "USL");
        points();
    }
    std::string svg() const {
        return "<svg width=\"" + short_decimal(width, 0) + "\" height=\"" + short_decimal(height, 0) +
               "\" font-size=\"12\" fill=\"currentColor\" role=\"img\" aria-label=\"throughput over " +
               html_escaped(scaling_.variable) + "\">" + out_ + "</svg>";
    }

private:
    double x(double n) const { return left + n / most_n_ * (width - left - margin); }
    double y(double value) const { return height - bottom - value / most_x_ * (height - bottom - margin); }
    static std::string number(double value) { return short_decimal(value, 1); }

    void line(double x1, double y1, double x2, double y2, const std::string& colour) {
        out_ += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" +
                number(y2) + "\" stroke=\"" + colour + "\"/>";
    }
    void text(double at_x, double at_y, const std::string& what, const std::string& anchor) {
        out_ += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" text-anchor=\"" + anchor + "\">" +
                html_escaped(what) + "</text>";
    }
    void axes(const std::string& unit) {
        line(left, y(0), width - margin, y(0), "currentColor");
        line(left, y(0), left, margin, "currentColor");
        for (const double part : {0.0, 0.5, 1.0})
            text(left - 6, y(part * most_x_) + 4, rate_text(part * most_x_), "end");
        for (const ScalingRow& row : scaling_.rows)
            text(x(row.n), height - bottom + 16, short_decimal(row.n, 2), "middle");
        text(width - margin, height - 6, scaling_.variable, "end");
        text(left + 6, margin, unit + "/s", "start");
    }
    void curve(const ScalingFit& fit, const std::string& colour, const std::string& name) {
        if (!fit.valid) return;
        const double first = scaling_.rows.front().n;
        std::string path;
        for (int i = 0; i <= 60; ++i) {
            const double n = first + (most_n_ - first) * i / 60;
            path += (path.empty() ? "M" : "L") + number(x(n)) + " " + number(y(std::max(0.0, fit.at(n))));
        }
        out_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\"><title>" + name + "</title></path>";
    }
    void points() {
        for (const ScalingRow& row : scaling_.rows) {
            const Interval& interval = row.throughput;
            if (interval.low)
                line(x(row.n), y(std::max(0.0, *interval.low)), x(row.n), y(*interval.high), "currentColor");
            out_ += "<circle cx=\"" + number(x(row.n)) + "\" cy=\"" + number(y(interval.mean)) + "\" r=\"4\"><title>" +
                    html_escaped(rate_text(interval)) + "</title></circle>";
        }
    }

    const ScalingReport& scaling_;
    double most_n_ = 0, most_x_ = 0;
    std::string out_;
};

}  // namespace

std::string scaling_chart(const ScalingReport& scaling, const std::string& unit) {
    return Drawing(scaling, unit).svg();
}

}  // namespace flameprobe::bench

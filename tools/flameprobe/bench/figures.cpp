#include "figures.hpp"

#include <array>
#include <cmath>
#include <cstdint>

#include "render/numbers.hpp"

namespace flameprobe::bench {

namespace {

/// Digits after the point, so that there are `digits` in all.
std::string digits_text(double value, int digits) {
    const double size = std::abs(value);
    if (size == 0) return "0";
    const int before = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
    return fixed_text(value, std::max(0, digits - before));
}

double half_width(const Interval& interval) { return *interval.high - interval.mean; }

}  // namespace

std::string cost_text(double ns) {
    constexpr std::array<std::pair<double, const char*>, 3> units{{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}}};
    for (const auto& [size, name] : units) {
        if (std::abs(ns) >= size) return digits_text(ns / size, 3) + name;
    }
    return digits_text(ns, 3) + " ns";
}

std::string rate_text(double per_second) {
    if (per_second >= 10000) return count_text(static_cast<std::uint64_t>(per_second + 0.5));
    return digits_text(per_second, 4);
}

std::string cost_text(const Interval& interval) {
    return cost_text(interval.mean) + (interval.high ? " ± " + cost_text(half_width(interval)) : "");
}

std::string rate_text(const Interval& interval) {
    return rate_text(interval.mean) + (interval.high ? " ± " + rate_text(half_width(interval)) : "");
}

std::string rounded_span_text(double seconds) {
    if (seconds < 90) return fixed_text(seconds, 0) + " s";
    return seconds < 90 * 60 ? fixed_text(seconds / 60, 0) + " min" : fixed_text(seconds / 3600, 0) + " h";
}

std::string change_text(double share) {
    const std::string text = fixed_text(100 * std::abs(share), 1) + " %";
    return text == "0.0 %" ? text : (share < 0 ? "−" : "+") + text;
}

std::string parameter_text(const Parameter& parameter) {
    std::string text = digits_text(parameter.value, 4);
    if (parameter.low) text += " (" + digits_text(*parameter.low, 4) + " to " + digits_text(*parameter.high, 4) + ")";
    return text;
}

}  // namespace flameprobe::bench

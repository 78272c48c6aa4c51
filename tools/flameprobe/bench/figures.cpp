#include "figures.hpp"

#include <array>
#include <cmath>
#include <cstdint>

#include "render/numbers.hpp"
#include "render/short_name.hpp"

namespace flameprobe::bench {

namespace {

/// Digits after the point, so that there are `digits` in all.
std::string digits_text(double value, int digits) {
    const double size = std::abs(value);
    if (size == 0) return "0";
    const int before = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
    return fixed_text(value, std::max(0, digits - before));
}

constexpr std::array<std::pair<double, const char*>, 4> time_units{
    {{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}}};

constexpr std::array<std::pair<double, const char*>, 4> byte_units{
    {{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}};

using Units = std::array<std::pair<double, const char*>, 4>;

std::pair<double, const char*> unit_of(double value, const Units& units) {
    for (const auto& unit : units)
        if (std::abs(value) >= unit.first) return unit;
    return units.back();
}

std::string text_in(const Units& units, double value) {
    const auto [size, name] = unit_of(value, units);
    return digits_text(value / size, 3) + name;
}

/// The length of what pictures leave out of a name in folded text.
std::size_t kind_length(const std::string& name) { return name.ends_with("_[k]") || name.ends_with("_[i]") ? 4 : 0; }

double half_width(const Interval& interval) { return *interval.high - interval.mean; }

std::string text_in(const Units& units, const Interval& interval) {
    if (!interval.high) return text_in(units, interval.mean);
    const auto [size, name] = unit_of(interval.mean, units);
    const double error = half_width(interval) / size;
    return sized_text(interval.mean / size, error) + name + " ± " + sized_text(error, error) + name;
}

}  // namespace

std::string cost_text(double ns) { return text_in(time_units, ns); }

std::string sized_text(double value, double error) {
    if (!(error > 0)) return digits_text(value, 4);
    const double step = std::pow(10, std::floor(std::log10(error)) - 1), rounded = std::round(value / step) * step;
    if (rounded >= 1000) return count_text(static_cast<std::uint64_t>(rounded + 0.5));
    return fixed_text(rounded, std::max(0, static_cast<int>(-std::floor(std::log10(step) + 0.5))));
}

std::string rate_text(double per_second) {
    if (per_second >= 1000) return count_text(static_cast<std::uint64_t>(per_second + 0.5));
    return digits_text(per_second, 4);
}

std::string cost_text(const Interval& interval) { return text_in(time_units, interval); }

std::string size_text(const Interval& bytes) { return text_in(byte_units, bytes); }

std::string rate_text(const Interval& interval) {
    if (!interval.high) return rate_text(interval.mean);
    const double error = half_width(interval);
    return sized_text(interval.mean, error) + " ± " + sized_text(error, error);
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

std::string shown_name(const std::string& name) {
    const std::size_t kind = kind_length(name);
    return name.starts_with('[') || name.ends_with("_[k]") ? name : label_of(name) + name.substr(name.size() - kind);
}

std::string label_of(const std::string& name) {
    const std::string whole = name.substr(0, name.size() - kind_length(name));
    return whole.starts_with('[') || name.ends_with("_[k]") ? whole : short_name(whole);
}

}  // namespace flameprobe::bench

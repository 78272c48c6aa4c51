#include "figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "bench_file.hpp"
#include "render/describe.hpp"
#include "render/text.hpp"

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
    if (!parameter.low) return digits_text(parameter.value, 4);
    const double error = (*parameter.high - *parameter.low) / 2;
    return sized_text(parameter.value, error) + " (" + sized_text(*parameter.low, error) + " to " +
           sized_text(*parameter.high, error) + ")";
}

std::string shown_name(const std::string& name) {
    const std::size_t kind = kind_length(name);
    return name.starts_with('[') || name.ends_with("_[k]") ? name : label_of(name) + name.substr(name.size() - kind);
}

std::string label_of(const std::string& name) {
    const std::string whole = name.substr(0, name.size() - kind_length(name));
    return whole.starts_with('[') || name.ends_with("_[k]") ? whole : short_name(whole);
}

namespace {

constexpr double little = 0.03;  // of the ideal: not worth a cause

std::string times_text(double times, std::optional<double> error) {
    return error ? sized_text(times, *error) + " times (± " + sized_text(*error, *error) + ")"
                 : short_decimal(times, 2) + " times";
}

/// A loss that is hardly larger than its error is a range, not a number.
std::string lost_text(double lost, std::optional<double> error) {
    const auto percent = [](double share) { return fixed_text(100 * share, 0); };
    if (!error) return fixed_text(100 * lost, 1) + " % of it is lost";
    if (*error <= lost / 2)
        return sized_text(100 * lost, 100 * *error) + " % (± " + sized_text(100 * *error, 100 * *error) +
               ") of it is lost";
    return "between " + percent(lost - *error) + " and " + percent(std::min(lost + *error, 1.0)) +
           " % of it is lost; more repeats narrow that";
}

std::string where_it_is_lost(const ScalingReport& scaling, const std::string& unit) {
    constexpr std::size_t most = 3;
    std::string names;
    std::size_t named = 0;
    for (const Growth& growth : scaling.growth) {
        if (!growth.found || growth.growth() <= 0 || named == most) continue;
        names += (named++ == 0 ? "" : ", ") + shown_name(growth.name) + " by " + cost_text(growth.growth());
    }
    if (named > 0) return " CPU time per " + one_of(unit) + " grows: " + names + ".";
    return " No function's CPU time per " + one_of(unit) +
           " grows beyond noise: what is lost is waiting, or CPUs that were not to be had.";
}

}  // namespace

std::string one_of(const std::string& unit) {
    return unit.size() > 1 && unit.ends_with("s") ? unit.substr(0, unit.size() - 1) : unit;
}

std::string answer_of(const ScalingReport& scaling, const std::string& unit) {
    if (scaling.rows.size() < 2) return {};
    const ScalingRow& first = scaling.rows.front();
    const ScalingRow& last = scaling.rows.back();
    const double ideal = last.n / first.n, times = last.efficiency * ideal;
    std::optional<double> error;
    if (last.error) error = *last.error * ideal;
    const bool changes = !error || std::abs(times - 1) > *error;
    std::string text = title_of(scaling.scenario, scaling.others) + ": from " + scaling.variable + " " +
                       short_decimal(first.n, 3) + " to " + short_decimal(last.n, 3) + " throughput " +
                       (!changes    ? "does not change beyond the error: "
                        : times < 1 ? "falls to "
                                    : "grows to ") +
                       times_text(times, error) + "; in proportion it would be " + short_decimal(ideal, 2) + " times";
    const double lost = 1 - last.efficiency;
    const bool seen = lost > std::max(little, last.error.value_or(0));
    text += seen ? ", so " + lost_text(lost, last.error) + "." : ", so nothing is lost beyond the error.";
    if (!error) text += " The error is not known: each point was run once.";
    return text + (seen ? where_it_is_lost(scaling, unit) : "");
}

std::string answer_of(const PointReport& point) {
    if (point.runs.empty()) return point.title + ": failed.";
    std::string text = point.title + ": " + cost_text(point.cost) + " of CPU time per " + one_of(point.unit);
    for (const auto& run : point.runs)
        if (!run.answer.empty()) return text + ": " + run.answer + ".";
    return text + ".";
}

namespace {

constexpr std::array<std::string_view, 2> entries{"do_syscall_64", "el0_svc"};  // of all calls
constexpr std::string_view stands_for = "[kernel: ";
constexpr std::array<std::string_view, 3> prefixes{"__x64_sys_", "__arm64_sys_", "__do_sys_"};
/// Functions that the function of a system call jumps to (a tail call), so that the call's own is not on the stack.
/// Each serves one system call only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> jumped_to{{{"ksys_read", "read"},
                                                                                  {"ksys_write", "write"},
                                                                                  {"do_readv", "readv"},
                                                                                  {"do_writev", "writev"},
                                                                                  {"do_futex", "futex"},
                                                                                  {"__sys_sendto", "sendto"},
                                                                                  {"__sys_recvfrom", "recvfrom"},
                                                                                  {"__sys_sendmsg", "sendmsg"},
                                                                                  {"__sys_recvmsg", "recvmsg"}}};

/// The system call that a function of the kernel implements; empty: none.
std::string_view call_of(std::string_view function) {
    for (const std::string_view prefix : prefixes) {
        if (function.starts_with(prefix)) return function.substr(prefix.size());
    }
    const auto found =
        std::find_if(jumped_to.begin(), jumped_to.end(), [function](const auto& one) { return one.first == function; });
    return found == jumped_to.end() ? std::string_view() : found->second;
}

struct Cost {
    double sampled = 0;          // the largest of the call's functions, which call each other
    double in_kernel_frame = 0;  // in the frame [kernel: CALL], where the kernel's own are missing
};

}  // namespace

CallCosts system_calls(const PointReport& point) {
    std::map<std::string_view, Cost> costs;
    CallCosts result;
    double entered = 0;
    for (const FunctionCost& function : point.functions) {
        std::string_view name = function.name;
        if (name.starts_with(stands_for) && name.ends_with("]")) {
            name = name.substr(stands_for.size(), name.size() - stands_for.size() - 1);
            if (name == "page fault") continue;
            costs[name].in_kernel_frame += function.total;
            result.whole += function.total;
        } else if (name.ends_with("_[k]")) {
            name.remove_suffix(4);
            if (name == entries[0] || name == entries[1]) entered = std::max(entered, function.total);
            if (const std::string_view call = call_of(name); !call.empty())
                costs[call].sampled = std::max(costs[call].sampled, function.total);
        }
    }
    for (const auto& [name, cost] : costs) {
        if (cost.sampled + cost.in_kernel_frame > 0)
            result.calls.push_back({std::string(name), cost.sampled + cost.in_kernel_frame});
    }
    std::stable_sort(result.calls.begin(), result.calls.end(), [](auto& a, auto& b) { return a.cost > b.cost; });
    result.whole += entered;
    return result;
}

}  // namespace flameprobe::bench

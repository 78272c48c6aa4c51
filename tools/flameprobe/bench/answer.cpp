#include "answer.hpp"

#include <algorithm>

#include "figures.hpp"
#include "plan.hpp"
#include "render/numbers.hpp"

namespace flameprobe::bench {

namespace {

constexpr double little = 0.03;  // of the ideal: not worth a cause

std::string times_text(double times, std::optional<double> error) {
    return error ? sized_text(times, *error) + " times (± " + sized_text(*error, *error) + ")"
                 : short_decimal(times, 2) + " times";
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
    std::string text = title_of(scaling.scenario, scaling.others) + ": from " + scaling.variable + " " +
                       short_decimal(first.n, 3) + " to " + short_decimal(last.n, 3) + " throughput " +
                       (times < 1 ? "falls" : "grows") + " to " + times_text(times, error) +
                       "; in proportion it would be " + short_decimal(ideal, 2) + " times";
    const double lost = 1 - last.efficiency;
    const bool seen = lost > std::max(little, last.error.value_or(0));
    const std::string share = last.error ? sized_text(100 * lost, 100 * *last.error) : fixed_text(100 * lost, 1);
    text += seen ? ", so " + share + " % of it is lost." : ", so nothing is lost beyond the error.";
    if (!error) text += " The error is not known: each point was run once.";
    return text + (seen ? where_it_is_lost(scaling, unit) : "");
}

std::string answer_of(const PointReport& point) {
    if (point.runs.empty()) return point.title + ": failed.";
    std::string text = point.title + ": " + cost_text(point.cost) + " of CPU time per " + one_of(point.unit);
    const auto dearest = std::find_if(point.functions.begin(), point.functions.end(),
                                      [](const FunctionCost& one) { return one.name != "[not sampled]"; });
    if (dearest != point.functions.end() && point.cost.mean > 0)
        text += ", most of it in " + shown_name(dearest->name) + " (" +
                percent_text(dearest->cost.mean, point.cost.mean) + ")";
    return text + ".";
}

}  // namespace flameprobe::bench

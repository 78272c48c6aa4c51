#include "two_values.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace flameprobe::compare {

namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

Error without_variable(const Measurement& measurement, const std::string& variable) {
    std::set<std::string> names;
    for (const MeasuredPoint& point : measurement.points) {
        for (const auto& [name, value] : point.sweep) names.insert(name);
    }
    return Error{measurement.path + ": has no variable '" + variable +
                 "' that sweeps; there are: " + listed({names.begin(), names.end()})};
}

}  // namespace

Result<TwoSides> two_values(const Measurement& measurement, const std::string& variable) {
    std::vector<std::string> values;
    for (const MeasuredPoint& point : measurement.points) {
        const auto found = point.sweep.find(variable);
        if (found != point.sweep.end() && std::find(values.begin(), values.end(), found->second) == values.end())
            values.push_back(found->second);
    }
    if (values.empty()) return without_variable(measurement, variable);
    if (values.size() != 2)
        return Error{measurement.path + ": '" + variable +
                     "' needs two values, old and new; it has: " + listed(values)};
    TwoSides sides;
    sides.before.path = variable + "=" + values[0];
    sides.after.path = variable + "=" + values[1];
    for (const MeasuredPoint& point : measurement.points) {
        const auto found = point.sweep.find(variable);
        if (found == point.sweep.end()) continue;
        MeasuredPoint& copy = (found->second == values[0] ? sides.before : sides.after).points.emplace_back(point);
        copy.sweep.erase(variable);
    }
    return sides;
}

}  // namespace flameprobe::compare

#include "measurement.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/proc.hpp"

namespace flameprobe::compare {

namespace {

using Json = nlohmann::ordered_json;

bool is_directory(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

MeasuredAllocations allocations_of(const Json& json) {
    MeasuredAllocations allocations;
    const auto values = [](const Json& of, const char* what) {
        return of.at("runs").at(what).get<std::vector<double>>();
    };
    if (json.is_null() || !json.contains("runs")) return allocations;
    allocations.bytes = values(json, "bytes");
    allocations.number = values(json, "allocations");
    allocations.samples = json.at("samples").get<double>();
    for (const Json& function : json.at("functions"))
        allocations.functions[function.at("name").get<std::string>()] = {values(function, "bytes"),
                                                                         function.at("samples").get<double>()};
    return allocations;
}

MeasuredPoint point_of(const Json& scenario) {
    MeasuredPoint point;
    point.scenario = scenario.at("name").get<std::string>();
    for (const auto& [name, value] : scenario.at("sweep").items())
        point.sweep[name] = value.is_string() ? value.get<std::string>() : value.dump();
    point.unit = scenario.at("unit").get<std::string>();
    const Json& runs = scenario.at("runs");
    for (const Json& run : runs) {
        const double cost = run.at("cpu_ns_per_unit").get<double>(), samples = run.at("samples").get<double>();
        point.cost.push_back(cost);
        point.repetitions.push_back(run.value("repetition", static_cast<unsigned>(point.cost.size())));
        if (samples > 0)
            point.sample_cost +=
                cost * run.at("sampled_share").get<double>() / samples / static_cast<double>(runs.size());
        if (const Json& rate = run.at("work_per_second"); !rate.is_null())
            point.throughput.push_back(rate.get<double>());
    }
    for (const Json& function : scenario.at("functions")) {
        const auto name = function.at("name").get<std::string>();
        if (name == "[not sampled]") continue;
        auto& costs = point.functions[name] = function.at("runs").get<std::vector<double>>();
        costs.resize(point.cost.size());
    }
    point.allocations = allocations_of(scenario.value("allocations", Json(nullptr)));
    return point;
}

}  // namespace

std::string MeasuredPoint::title() const {
    std::string title = scenario;
    for (const auto& [name, value] : sweep) title += " " + name + "=" + value;
    return title;
}

Result<Measurement> parse_measurement(const std::string& text, const std::string& path) try {
    const Json json = Json::parse(text);
    if (json.value("format", "") != "flameprobe-bench") return Error{path + ": is no report.json of flameprobe bench"};
    Measurement measurement;
    measurement.path = path;
    for (const Json& scenario : json.at("scenarios")) measurement.points.push_back(point_of(scenario));
    return measurement;
} catch (const nlohmann::json::exception& error) {
    return Error{path + ": is no report.json of flameprobe bench: " + error.what()};
}

Result<Measurement> read_measurement(const std::string& path) {
    const std::string report = is_directory(path) ? path + "/report.json" : path;
    const auto text = read_small_file(report.c_str());
    if (!text)
        return Error{report + ": cannot be read" +
                     (report == path ? "" : "; a directory has to be one that flameprobe bench made")};
    return parse_measurement(*text, report);
}

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

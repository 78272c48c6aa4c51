#include "measurement.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/proc.hpp"
#include "profile/names.hpp"

namespace flameprobe::compare {

namespace {

using Json = nlohmann::ordered_json;

bool is_directory(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Costs costs_of(const Json& functions, const char* what, std::size_t runs) {
    Costs costs;
    for (const Json& function : functions) {
        const Json& values = function.at("runs");
        auto& its = costs[function.at("name").get<std::string>()] =
            (*what == 0 ? values : values.at(what)).get<std::vector<double>>();
        its.resize(runs);
    }
    return costs;
}

MeasuredRun run_of(const Json& json, const std::string& directory) {
    MeasuredRun run;
    const auto number = [&json](const char* name, double otherwise) {
        const auto found = json.find(name);
        return found == json.end() || found->is_null() ? otherwise : found->get<double>();
    };
    run.seconds = number("seconds", 0);
    run.units = number("work", run.seconds > 0 ? run.seconds : 1);
    run.samples = json.at("samples").get<std::uint64_t>();
    run.sampled_share = json.at("sampled_share").get<double>();
    run.from_unix_ns = json.value("from_unix_ns", std::uint64_t{0});
    run.to_unix_ns = json.value("to_unix_ns", std::uint64_t{0});
    if (run.to_unix_ns > 0 && !directory.empty())
        for (const Json& path : json.at("profiles")) run.profiles.push_back(directory + path.get<std::string>());
    return run;
}

/// `directory`: ends in '/'.
MeasuredPoint point_of(const Json& scenario, const std::string& directory) {
    MeasuredPoint point;
    point.scenario = scenario.at("name").get<std::string>();
    for (const auto& [name, value] : scenario.at("sweep").items())
        point.sweep[name] = value.is_string() ? value.get<std::string>() : value.dump();
    point.unit = scenario.at("unit").get<std::string>();
    for (const Json& run : scenario.at("runs")) {
        point.runs.push_back(run_of(run, directory));
        point.counts_work = run.contains("work") && !run.at("work").is_null();
    }
    const std::size_t runs = point.runs.size();
    point.costs[std::string(event_name::cpu)] = costs_of(scenario.at("functions"), "", runs);
    const Json allocations = scenario.value("allocations", Json(nullptr));
    if (!allocations.is_null() && allocations.contains("runs")) {
        point.allocation_samples = allocations.at("samples").get<double>();
        const Json& functions = allocations.at("functions");
        point.costs[std::string(event_name::alloc)] = costs_of(functions, "bytes", runs);
        point.costs[std::string(event_name::alloc_objects)] = costs_of(functions, "allocations", runs);
    }
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
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    for (const Json& scenario : json.at("scenarios"))
        measurement.points.push_back(point_of(scenario, directory.empty() ? "./" : directory));
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

bool is_archive(const std::string& path) {
    constexpr std::array<std::string_view, 5> endings = {".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.zst"};
    return std::any_of(endings.begin(), endings.end(), [&path](std::string_view end) { return path.ends_with(end); });
}

}  // namespace flameprobe::compare

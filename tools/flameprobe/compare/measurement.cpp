#include "measurement.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "export/text.hpp"
#include "inputs.hpp"
#include "render/function_totals.hpp"

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

/// Bytes, or how many allocations.
bool counts_memory(const RunInfo& run) { return run.event.starts_with(event_name::alloc) || counts_living(run); }

MeasuredProfile memory_of(const NamedProfile& profile) {
    MeasuredProfile measured;
    measured.memory_event = profile.run.event;
    measured.in_bytes = counts_bytes(profile.run);
    measured.is_living = counts_living(profile.run);
    for (const NamedCount& count : profile.counts) {
        const auto weight = static_cast<double>(count.weight), hits = static_cast<double>(count.hits);
        measured.all.add(weight, hits);
        if (count.node == 0) continue;
        const FunctionId function = profile.function_of(count.node);
        measured.amounts[display_name(profile, function)].add(weight, hits);
    }
    return measured;
}

Result<Measurement> read_profile_file(const std::string& path, const ChosenProcesses& chosen) {
    Progress progress;
    Arguments arguments;
    arguments.process = chosen.name;
    arguments.filter.pid = chosen.pid;
    arguments.filter.event = chosen.event;
    const auto profile = load_inputs({path}, arguments, progress);
    progress.clear();
    if (!profile) return profile.error();
    Measurement measurement;
    measurement.path = path;
    measurement.is_profile = true;
    if (counts_memory(profile->run)) {
        measurement.profile = memory_of(*profile);
        return measurement;
    }
    const Totals totals = function_totals(*profile);
    if (totals.samples == 0) return Error{path + ": has no samples"};
    // Noise is computed from the number of samples, not from the periods that they stand for.
    measurement.profile.samples = static_cast<double>(total_hits(*profile));
    const double hits_of_each = measurement.profile.samples / static_cast<double>(totals.samples);
    for (const FunctionTotal& function : totals.functions)
        measurement.profile.functions[display_name(*profile, function.function)] +=
            static_cast<double>(function.self) * hits_of_each;
    return measurement;
}

}  // namespace

// The square of what each sample stands for; a sum without samples is taken for one.
void MeasuredProfile::Amount::add(double weight, double hits) {
    sum += weight;
    samples += hits;
    variance += weight * weight / std::max(hits, 1.0);
}

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

Result<Measurement> read_measurement(const std::string& path, const ChosenProcesses& chosen) {
    const std::string report = is_directory(path) ? path + "/report.json" : path;
    if (!report.ends_with(".json")) return read_profile_file(path, chosen);
    if (!chosen.all())
        return Error{path +
                     ": a bench's report is not divided by process or event: --process, --pid and --event are "
                     "for profiles"};
    std::ifstream file(report, std::ios::binary);
    if (!file)
        return Error{report + ": cannot be read" +
                     (report == path ? "" : "; a directory has to be one that flameprobe bench made")};
    std::ostringstream text;
    text << file.rdbuf();
    return parse_measurement(text.str(), report);
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

#include "measurement.hpp"

#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "export/totals.hpp"
#include "inputs.hpp"

namespace flameprobe::compare {

namespace {

using Json = nlohmann::ordered_json;

bool is_directory(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
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
    return point;
}

Result<Measurement> read_profile_file(const std::string& path, const ChosenProcesses& chosen) {
    Progress progress;
    Arguments arguments;
    arguments.process = chosen.name;
    arguments.filter.pid = chosen.pid;
    const auto profile = load_inputs({path}, arguments, progress);
    progress.clear();
    if (!profile) return profile.error();
    Measurement measurement;
    measurement.path = path;
    measurement.is_profile = true;
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
        return Error{path + ": a bench's report is not divided by process: --process and --pid are for profiles"};
    std::ifstream file(report, std::ios::binary);
    if (!file)
        return Error{report + ": cannot be read" +
                     (report == path ? "" : "; a directory has to be one that flameprobe bench made")};
    std::ostringstream text;
    text << file.rdbuf();
    return parse_measurement(text.str(), report);
}

}  // namespace flameprobe::compare

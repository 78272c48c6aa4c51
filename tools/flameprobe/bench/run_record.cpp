#include "run_record.hpp"

#include <nlohmann/json.hpp>

namespace flameprobe::bench {

using Json = nlohmann::ordered_json;

namespace {

const std::string preempted = "[preempted]";

Json number_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

std::optional<double> optional_number(const Json& json, const char* key) {
    const Json& value = json.at(key);
    return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

}  // namespace

std::optional<double> RunRecord::work_per_second() const {
    if (!work || seconds <= 0) return std::nullopt;
    return *work / seconds;
}

double RunRecord::cpu_ns_per_unit() const { return units() > 0 ? cpu_seconds * 1e9 / units() : 0; }

double RunRecord::blocked_seconds() const {
    std::uint64_t ns = 0;
    for (const auto& [name, time] : waits) ns += name == preempted ? 0 : time;
    return static_cast<double>(ns) / 1e9;
}

double RunRecord::preempted_seconds() const {
    const auto found = waits.find(preempted);
    return found == waits.end() ? 0 : static_cast<double>(found->second) / 1e9;
}

double RunRecord::sample_cost() const {
    return samples == 0 ? 0 : cpu_ns_per_unit() * sampled_share / static_cast<double>(samples);
}

std::string run_record_json(const RunRecord& run) {
    Json functions = Json::object();
    for (const auto& [name, time] : run.functions) functions[name] = {time.self_ns, time.total_ns};
    Json allocations = Json::object();
    for (const auto& [name, sum] : run.allocations)
        allocations[name] = {sum.bytes, sum.total_bytes, sum.number, sum.samples};
    Json json = {
        {"failure", run.failure},         {"repetition", run.repetition},     {"from_unix_ns", run.from_unix_ns},
        {"to_unix_ns", run.to_unix_ns},   {"profiles", run.profiles},         {"seconds", run.seconds},
        {"cpu_seconds", run.cpu_seconds}, {"work", number_or_null(run.work)}, {"latency", number_or_null(run.latency)},
        {"ipc", number_or_null(run.ipc)}};
    visit_counts(run, [&json](const char* name, const auto& value) { json[name] = value; });
    json["waits"] = run.waits;
    json["remarks"] = run.remarks;
    json["functions"] = std::move(functions);
    json["allocations"] = std::move(allocations);
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunRecord> read_run(const std::string& text, const std::string& run_name) try {
    const Json json = Json::parse(text);
    RunRecord run;
    run.failure = json.at("failure").get<std::string>();
    run.repetition = json.at("repetition").get<unsigned>();
    run.from_unix_ns = json.at("from_unix_ns").get<std::uint64_t>();
    run.to_unix_ns = json.at("to_unix_ns").get<std::uint64_t>();
    run.profiles = json.at("profiles").get<std::vector<std::string>>();
    run.seconds = json.at("seconds").get<double>();
    run.cpu_seconds = json.at("cpu_seconds").get<double>();
    run.work = optional_number(json, "work");
    run.latency = optional_number(json, "latency");
    if (json.contains("ipc")) run.ipc = optional_number(json, "ipc");
    visit_counts(run, [&json](const char* name, auto& value) { json.at(name).get_to(value); });
    run.waits = json.value("waits", WaitTimes());
    run.remarks = json.at("remarks").get<std::vector<std::string>>();
    for (const auto& [name, time] : json.at("functions").items())
        run.functions[name] = {time.at(0).get<std::uint64_t>(), time.at(1).get<std::uint64_t>()};
    const Json allocations = json.value("allocations", Json::object());
    for (const auto& [name, sum] : allocations.items())
        run.allocations[name] = {sum.at(0).get<std::uint64_t>(), sum.at(1).get<std::uint64_t>(),
                                 sum.at(2).get<std::uint64_t>(), sum.at(3).get<std::uint64_t>()};
    return run;
} catch (const nlohmann::json::exception& error) {
    return Error{run_name + ": not a run of the bench: " + error.what()};
}

}  // namespace flameprobe::bench

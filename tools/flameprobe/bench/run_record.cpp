#include "run_record.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "profiles.hpp"
#include "render/text.hpp"

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
    json["answer"] = run.answer;
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
    run.answer = json.value("answer", "");
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

namespace {

Result<std::optional<double>> read(const Reading& reading, const std::string& log) {
    if (reading.pattern.empty()) return std::optional<double>();
    const auto number = read_number(reading.pattern, log);
    if (!number) return Error{"no line of " + log + " matches '" + reading.pattern + "'; " + last_line(log)};
    return number;
}

Result<void> read_load(const FinishedBenchRun& run, RunRecord& record) {
    const std::string log = run.file(run.is_own_load() ? "program.log" : "load.log");
    const auto work = read(run.scenario.work, log), latency = read(run.scenario.latency, log);
    if (!work) return work.error();
    if (!latency) return latency.error();
    record.latency = *latency;
    if (*work) {
        const double span = run.scenario.work.seconds;
        record.work = span > 0 ? **work / span * record.seconds : **work;
        if (*record.work <= 0) return Error{"the load tells of no work done: " + short_decimal(**work, 3)};
    }
    return {};
}

Result<void> take_count(const std::string& name, const std::map<std::string, std::uint64_t>& work, RunRecord& record) {
    const auto found = work.find(name);
    if (found != work.end()) {
        record.work = static_cast<double>(found->second);
        return {};
    }
    std::string counted;
    for (const auto& [other, amount] : work) counted += (counted.empty() ? "" : ", ") + other;
    return Error{"the program has not counted '" + name + "' (FlameProbe::count) in the time of the load; " +
                 (counted.empty() ? "it counted nothing" : "it counted: " + counted)};
}

/// Names of the profiles, the program's own first, whose name ends with its pid.
std::vector<std::string> profiles_of(const FinishedBenchRun& run) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run.directory)) {
        if (entry.path().extension() == ".fprobe") names.push_back(entry.path().filename());
    }
    const std::string own = "." + std::to_string(run.pid) + ".fprobe";
    std::sort(names.begin(), names.end(), [&own](const std::string& a, const std::string& b) {
        return std::pair(!a.ends_with(own), a) < std::pair(!b.ends_with(own), b);
    });
    return names;
}

Result<void> read_profiles(const FinishedBenchRun& run, SymbolCache& cache, RunRecord& record) {
    std::vector<std::string> paths;
    for (const std::string& name : profiles_of(run)) {
        record.profiles.push_back(run.name + "/" + name);
        paths.push_back(run.file(name));
    }
    if (paths.empty())
        return Error{"there is no profile: the program used next to no CPU time, or could not be preloaded (see " +
                     run.file("program.log") + ")"};
    const auto totals = profile_totals(paths, {record.from_unix_ns, record.to_unix_ns}, cache, run.events);
    if (!totals) return totals.error();
    record.functions = totals->functions;
    record.answer = totals->answer;
    record.waits = totals->waits;
    record.allocations = totals->allocations;
    if (run.events.waits && record.waits.empty())
        record.remarks.push_back("no wait was sampled; 'flameprobe doctor' says whether waits can be measured here");
    if (run.events.allocations && record.allocations.empty())
        record.remarks.push_back(
            "no allocation was sampled: the program made few, or has an allocator of its own (program.log says so)");
    record.samples = totals->samples;
    record.remarks.insert(record.remarks.end(), totals->warnings.begin(), totals->warnings.end());
    std::uint64_t cpu_ns = run.cpu_ns;
    if (run.is_own_load()) cpu_ns -= std::min(cpu_ns, totals->own_cpu_ns);
    record.cpu_seconds = static_cast<double>(cpu_ns) / 1e9;
    record.sampled_share = cpu_ns == 0 ? 0 : static_cast<double>(totals->sampled_ns) / static_cast<double>(cpu_ns);
    if (totals->samples == 0 && record.allocations.empty()) return Error{"no sample fell into the time of the load"};
    const std::string& count = run.scenario.work.count;
    return count.empty() ? Result<void>{} : take_count(count, totals->work, record);
}

}  // namespace

Result<void> read_figures(const FinishedBenchRun& run, SymbolCache& cache, RunRecord& record) {
    auto read = read_load(run, record);
    return read ? read_profiles(run, cache, record) : read;
}

namespace {

constexpr std::size_t longest_line = 16384;  // std::regex recurses for every character

}  // namespace

std::optional<double> read_number(const std::string& pattern, const std::string& file) {
    const std::regex wanted(pattern);
    std::ifstream in(file);
    std::optional<double> found;
    for (std::string whole; std::getline(in, whole);) {
        for (std::size_t begin = 0; begin <= whole.size();) {
            const std::size_t end = std::min(whole.find('\r', begin), whole.size());
            const std::string line = whole.substr(begin, std::min(end - begin, longest_line));
            begin = end + 1;
            std::smatch match;
            if (!std::regex_search(line, match, wanted) || match.size() < 2) continue;
            std::string text = match[1];
            std::erase(text, ',');
            double number = 0;
            const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (error == std::errc{}) found = number;
        }
    }
    return found;
}

std::string last_line(const std::string& path) {
    std::ifstream file(path);
    std::string last;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty()) last = line;
    }
    return last.empty() ? "it printed nothing" : "its last line: " + last.substr(0, 300);
}

}  // namespace flameprobe::bench

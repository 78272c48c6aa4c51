#include "run_check.hpp"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "capture/perf_event.hpp"
#include "profile/run_directory.hpp"
#include "session/options.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"

namespace flameprobe {

Problem GivenSettings::take(const Setting& setting, const std::string& value) {
    const std::string variable(setting.variable);
    variables.emplace_back(variable, value);
    if (Problem problem = setting_problem(variable, value); !problem.empty()) return problem;
    Options options;
    setting.set(value, options);
    for (const std::string& word : options.drawing) take_option(word, look);
    return variable == "FLAMEPROBE_EVENT" ? event_problem(value) : Problem();
}

std::string GivenSettings::value(std::string_view variable, std::string otherwise) const {
    for (const auto& [name, given] : variables)
        if (name == variable) otherwise = given;
    return otherwise;
}

std::string setting_problem(const std::string& variable, const std::string& value) {
    const std::string line = variable + "=" + value;
    std::vector<std::string> problems;
    read_options({line}, problems);
    if (problems.empty()) return {};
    std::string problem = problems.front().substr(variable.size() + 1);
    constexpr std::string_view for_hosts = "; the default is used";
    if (problem.ends_with(for_hosts)) problem.resize(problem.size() - for_hosts.size());
    return problem;
}

std::string event_problem(const std::string& value) {
    std::vector<std::string> problems;
    const Options options = read_options({"FLAMEPROBE_EVENT=" + value}, problems);
    if (!problems.empty()) return {};
    std::vector<std::string> events = options.more_events;
    if (options.event != Options().event) events.push_back(options.event);
    for (const std::string& event : events) {
        CaptureOptions capture;
        capture.event = event;
        const auto counts = try_event(capture);
        if (counts) continue;
        const std::string why = counts.error().message;
        return why.starts_with(event) ? why : event + ": " + why;
    }
    return {};
}

std::string expanded_out(const std::string& out, const std::string& command, int pid, long long start) {
    PathFacts facts;
    facts.executable = command.substr(command.rfind('/') + 1);
    facts.pid = static_cast<std::uint32_t>(pid);
    facts.start_unix = static_cast<std::uint64_t>(start);
    facts.directory = working_directory();
    return expand_path(out, facts);
}

std::string place_problem(const std::string& out, const std::string& command, const std::vector<Format>& formats) {
    const std::string stem = expanded_out(out, command, ::getpid(), ::time(nullptr));
    const auto directory = OutputDirectory::of(stem);
    if (!directory) return stem + ": " + directory.error().message;
    struct stat found {};
    if (!directory->status(RunDirectory::longest_name(stem + ".run"), found) && errno == ENAMETOOLONG)
        return stem + ": " + error_text(errno) + remedy_for_failure(errno);
    if (const int error = directory->failure_to_write(); error != 0)
        return stem + ": no file can be made there: " + error_text(error);
    if (out.find('%') != out.npos) return {};
    for (const Format format : formats) {
        const std::string path = stem + std::string(ending_of(format));
        if (const auto obstacle = directory->obstacle(last_name(path)); !obstacle.empty())
            return path + " " + obstacle + remedy_for_obstacle;
    }
    return {};
}

std::string spool_problem(const std::string& directory) {
    struct stat status {};
    const bool there = ::lstat(directory.c_str(), &status) == 0;
    if (there && !S_ISDIR(status.st_mode)) return directory + " is no directory";
    const std::string parent = std::filesystem::absolute(directory).lexically_normal().parent_path().string();
    if (::access(there ? directory.c_str() : parent.c_str(), W_OK | X_OK) == 0) return {};
    return directory + (there ? ": no file can be made there: " : " cannot be created: ") + error_text(errno);
}

std::vector<Format> formats_of(const std::string& list) {
    const std::string line = "FLAMEPROBE_FORMAT=" + list;
    std::vector<std::string> problems;
    const Options options = read_options({line}, problems);
    return problems.empty() ? options.formats : std::vector<Format>{};
}

}  // namespace flameprobe

#include "run.hpp"

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "child.hpp"
#include "git_state.hpp"
#ifdef FLAMEPROBE_HAS_LIVE
#include "live/live.hpp"
#endif
#include "preload_path.hpp"
#include "program.hpp"
#include "run_check.hpp"
#include "run_pictures.hpp"
#include "session/run_info.hpp"
#include "session/settings.hpp"

namespace flameprobe {

namespace {

std::string usage() {
    std::string text =
        "Usage: flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
        "Runs COMMAND under the profiler, with its exit status, and ends with the path of the picture.\n"
        "\n";
    const auto line = [&text](char letter, std::string option, std::string_view argument, const std::string& help) {
        option =
            (letter != 0 ? std::string("  -") + letter + ", --" : "      --") + option + " " + std::string(argument);
        option.resize(std::max<std::size_t>(option.size() + 2, 28), ' ');
        text += option + help + "\n";
    };
    for (const Setting& setting : settings()) line(setting.letter, setting.option(), setting.argument, setting.help);
    line(0, "library", "FILE", "the libflameprobe.so to load");
    line(0, "live", "", "serve the page while the command runs, at an address of this machine that is printed first");
    line(0, "min-samples", "N", "exit status 3 and no picture if there are fewer, in all processes together");
    line(0, "min-rooted", "P", "likewise if fewer than P percent of the samples reach their thread's start");
    line(0, "max-lost", "P", "likewise if more than P percent of the samples were lost");
    return text + "\nEach option sets the variable FLAMEPROBE_<NAME>, which is described in flameprobe(1).\n";
}

constexpr int library_option = 300, min_samples_option = 301, min_rooted_option = 302, max_lost_option = 303,
              live_option = 304;
constexpr const char* default_formats = "folded,html,svg";

struct Request {
    Child::Environment environment;
    std::string out = "flameprobe.%e.%p";
    std::string formats = default_formats;
    std::string library;
    Gates gates;
    std::string problem;  // the first thing that is wrong
    bool help = false;
    bool live = false;
    int command = 0;  // index in argv
};

std::string variable_or(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

template <class T>
void take(Request& request, const char* option, const Result<T>& value, auto& into) {
    if (value) {
        into = *value;
    } else if (request.problem.empty()) {
        request.problem = std::string(option) + ": " + value.error().message;
    }
}

void take_setting(Request& request, const Setting& setting, const char* value) {
    const std::string variable(setting.variable);
    std::string problem = setting_problem(variable, value);
    if (problem.empty() && variable == "FLAMEPROBE_EVENT") problem = event_problem(value);
    if (!problem.empty() && request.problem.empty()) request.problem = "--" + setting.option() + ": " + problem;
    if (variable == "FLAMEPROBE_OUT") request.out = value;
    if (variable == "FLAMEPROBE_FORMAT") request.formats = value;
    request.environment.emplace_back(variable, value);
}

std::optional<Request> parse(int argc, char* argv[]) {
    constexpr int first_setting = 1000;  // getopt's value of settings()[0]
    std::vector<std::string> names;
    for (const Setting& setting : settings()) names.push_back(setting.option());
    std::vector<option> options;
    for (const std::string& name : names) {
        options.push_back({name.c_str(), required_argument, nullptr, first_setting + static_cast<int>(options.size())});
    }
    options.push_back({"library", required_argument, nullptr, library_option});
    options.push_back({"min-samples", required_argument, nullptr, min_samples_option});
    options.push_back({"min-rooted", required_argument, nullptr, min_rooted_option});
    options.push_back({"max-lost", required_argument, nullptr, max_lost_option});
    options.push_back({"live", no_argument, nullptr, live_option});
    options.push_back({"help", no_argument, nullptr, 'h'});
    options.push_back({});
    std::string letters = "+h";
    for (const Setting& setting : settings()) {
        if (setting.letter != 0) letters += {setting.letter, ':'};
    }
    Request request;
    request.out = variable_or("FLAMEPROBE_OUT", request.out.c_str());
    request.formats = variable_or("FLAMEPROBE_FORMAT", default_formats);
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, letters.c_str(), options.data(), nullptr)) != -1;) {
        if (option == '?') return std::nullopt;
        if (option == 'h') request.help = true;
        if (option == live_option) request.live = true;
        if (option == library_option) request.library = optarg;
        if (option == min_samples_option)
            take(request, "--min-samples", parse_count(optarg), request.gates.min_samples);
        if (option == min_rooted_option)
            take(request, "--min-rooted", parse_percentage(optarg), request.gates.min_rooted);
        if (option == max_lost_option) take(request, "--max-lost", parse_percentage(optarg), request.gates.max_lost);
        for (std::size_t i = 0; i < settings().size(); ++i) {
            const Setting& setting = settings()[i];
            if (option != first_setting + static_cast<int>(i) && (setting.letter == 0 || option != setting.letter))
                continue;
            take_setting(request, setting, optarg);
        }
    }
    request.command = optind;
    return request;
}

int complain(int status, const std::string& message) {
    std::fprintf(stderr, "flameprobe: %s\n", message.c_str());
    return status;
}

/// The first thing that would leave the run without its profile, and the option that it belongs to.
std::string problem_with(const Request& request, const char* command) {
    if (!request.problem.empty()) return request.problem;
#ifndef FLAMEPROBE_HAS_LIVE
    if (request.live) return "--live is not part of this build: libmicrohttpd was missing (libmicrohttpd-dev)";
#endif
    // ld.so(8) looks for a name without a slash itself.
    if (request.library.find('/') != std::string::npos && access(request.library.c_str(), R_OK) != 0)
        return "--library: " + request.library + ": " + strerrordesc_np(errno);
    const std::string place = place_problem(request.out, command, formats_of(request.formats));
    return place.empty() ? place : "--out: " + place;
}

}  // namespace

int run_command(int argc, char* argv[]) {
    auto request = parse(argc, argv);
    if (!request) return complain(2, "Try 'flameprobe run --help'.");
    if (request->help) return std::fputs(usage().c_str(), stdout) < 0 ? 1 : 0;
    if (request->command >= argc) return complain(2, "name a command to run. Try 'flameprobe run --help'.");
    if (const auto problem = problem_with(*request, argv[request->command]); !problem.empty())
        return complain(2, problem);
    if (request->library.empty()) {
        auto library = find_library();
        if (!library) return complain(2, library.error().message);
        request->library = *library;
    }
    if (const std::string obstacle = preload_obstacle(argv[request->command]); !obstacle.empty()) complain(0, obstacle);
    request->environment.emplace_back("LD_PRELOAD", preload_with(request->library));
    FinishedRun run{request->out, argv[request->command], 0, {}, formats_of(request->formats), request->gates, false};
    // Whether there is to be a picture is known when all is sampled.
    run.draw = run.gates.any();
    request->environment.emplace_back("FLAMEPROBE_FORMAT", run.draw ? "none" : request->formats);
    // For the provenance: git is not run inside the program.
    if (!git_commit(working_directory()).empty()) request->environment.emplace_back("FLAMEPROBE_DIRTY", dirty_text());
    clock_gettime(CLOCK_REALTIME_COARSE, &run.start);  // the clock of file times
    int status = 0;
    auto child = Child::start(argv + request->command, request->environment, status);
    if (!child) return complain(status, child.error().message);
#ifdef FLAMEPROBE_HAS_LIVE
    std::optional<LivePage> page;
    if (request->live) {
        if (auto served = LivePage::start(child->pid()); served) {
            complain(0, "live: " + served->url());
            page.emplace(std::move(*served));
        } else {
            complain(0, "no live page: " + served.error().message);
        }
    }
#endif
    const int ended = child->wait();
    run.pid = child->pid();
    const RunEnd end = end_run(run);
    for (const std::string& line : end.lines) complain(0, line);
    return ended == 0 && !end.passed ? 3 : end_like(ended);
}

}  // namespace flameprobe

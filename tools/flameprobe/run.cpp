#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "attach/outside_run.hpp"
#include "base/machine.hpp"
#include "base/paths.hpp"
#include "child.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "output_of.hpp"
#include "profile/task_event.hpp"
#ifdef FLAMEPROBE_HAS_LIVE
#include "live/live.hpp"
#endif
#include "preload_path.hpp"
#include "program.hpp"
#include "run_check.hpp"
#include "run_pictures.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"
#include "session/settings.hpp"
#include "settings_usage.hpp"

namespace flameprobe {

namespace {

std::string usage() {
    const auto line = [](const char* name, const char* argument, const char* help) {
        return usage_line(0, name, argument, help);
    };
    using Group = SettingGroup;
    std::string text =
        "Usage: flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
        "Runs COMMAND under the profiler, with its exit status. Then it says what took the time, and where the "
        "pictures are.\n"
        "\n"
        "  flameprobe run -- ./server                  its CPU time, and its children's\n"
        "  flameprobe run -e cpu,offcpu -- ./server    and where its threads wait\n"
        "  flameprobe run -e alloc -- ./server         who allocates\n";
    text += settings_usage(Group::sampled, false) +
            settings_usage(Group::results, false, line("open", "", "show the picture at the end, by xdg-open")) +
            settings_usage(
                Group::when, false,
                line("live", "", "serve the page meanwhile, at an address of this machine that is printed first")) +
            settings_usage(Group::how, false, line("library", "FILE", "the libflameprobe.so to load"));
    text += "\nWhere a result is no good: exit status 3, and no picture\n" +
            line("min-samples", "N", "if there are fewer, in all processes together") +
            line("min-rooted", "P", "if less than P percent of the time is on stacks that reach their thread's start") +
            line("max-lost", "P", "if more than P percent of the time was lost");
    text += "\nPictures, as flameprobe-render(1) has them\n ";
    for (std::size_t column = 1; const CommandOption<Arguments>& option : picture_options()) {
        const std::string name = " --" + option.name;
        if (column + name.size() > 79) column = 1, text += "\n ";
        text += name;
        column += name.size();
    }
    return text + "\n\nMost of these are variables too, as FLAMEPROBE_FREQ is --freq: flameprobe(1).\n";
}

struct RunRequest {
    GivenSettings settings;
    std::string library;
    Gates gates;
    bool looks = false;  // an option of pictures was given
    bool help = false;
    bool live = false;
    bool open = false;
    int command = 0;  // index in argv
};

/// As an option or in the environment.
std::string value_of(const RunRequest& request, const char* variable, std::string_view otherwise = "") {
    const char* value = getenv(variable);
    return request.settings.value(variable, value != nullptr && *value != '\0' ? value : std::string(otherwise));
}

std::vector<CommandOption<RunRequest>> known_options() {
    std::vector<CommandOption<RunRequest>> options;
    for (const Setting& setting : settings())
        options.push_back({setting.option(), required_argument,
                           [&setting](RunRequest& r, const std::string& v) { return r.settings.take(setting, v); },
                           setting.letter});
    constexpr int none = no_argument, value = required_argument;
    options.push_back({"library", value, always([](RunRequest& r, const std::string& v) { r.library = v; })});
    options.push_back({"min-samples", value, [](RunRequest& r, const std::string& v) {
                           return put_number<std::uint64_t>(v, r.gates.min_samples);
                       }});
    options.push_back({"min-rooted", value, [](RunRequest& r, const std::string& v) {
                           return put(parse_percentage(v), r.gates.min_rooted);
                       }});
    options.push_back({"max-lost", value,
                       [](RunRequest& r, const std::string& v) { return put(parse_percentage(v), r.gates.max_lost); }});
    for (CommandOption<Arguments>& option : picture_options())
        options.push_back({option.name, option.argument, [take = option.take](RunRequest& r, const std::string& v) {
                               r.looks = true;
                               return take(r.settings.look, v);
                           }});
    options.push_back({"live", none, always([](RunRequest& r, const std::string&) { r.live = true; })});
    options.push_back({"open", none, always([](RunRequest& r, const std::string&) { r.open = true; })});
    options.push_back({"help", none, always([](RunRequest& r, const std::string&) { r.help = true; }), 'h'});
    return options;
}

Result<RunRequest> parse_run(int argc, char* argv[]) {
    RunRequest request;
    const auto options = known_options();
    const auto first = take_options<RunRequest>(argc, argv, options, request, true);
    if (!first) return first.error();
    request.command = *first;
    return request;
}

std::uint64_t cpu_ns_of(const rusage& usage) {
    const auto ns = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec * 1'000'000 + time.tv_usec) * 1000;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

/// In a process that is not waited for: a browser may run on.
bool show_picture(const std::string& path) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
    std::string program = "xdg-open", file = path;
    char* arguments[] = {program.data(), file.data(), nullptr};
    pid_t pid = 0;
    const int failed = posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}

/// The first thing that would leave the run without its profile, and the option that it belongs to.
std::string problem_with(const FinishedRun& run) {
    if (!run.spool.empty()) {
        const std::string spool = spool_problem(run.spool);
        return spool.empty() ? spool : "--push: " + spool;
    }
    const std::string place = place_problem(run.out, run.command, run.formats);
    return place.empty() ? place : "--out: " + place;
}

/// Tells how the run went; the exit status is the command's, or that of a gate that was not passed.
int tell_end(const FinishedRun& run, int ended, bool open) {
    const RunEnd end = end_run(run);
    for (const std::string& line : end.lines) complain(0, line);
    if (open && !end.picture.empty() && !show_picture(end.picture))
        complain(0, "--open: xdg-open (package xdg-utils) could not be started");
    return ended == 0 && !end.passed ? 3 : end_like(ended);
}

/// Settings that need the library in the process change nothing, which is said.
Options options_from_outside(const RunRequest& request) {
    std::vector<std::string> lines, problems;  // each was checked when it was taken
    std::string without;
    for (const Setting& setting : settings()) {
        const std::string name(setting.variable), value = value_of(request, name.c_str());
        if (value.empty()) continue;
        if (setting.of_attach || name == "FLAMEPROBE_CHILDREN")
            lines.push_back(name + "=" + value);
        else if (name != "FLAMEPROBE_LOG")
            without += (without.empty() ? "" : ", ") + name;
    }
    if (!without.empty()) complain(0, "from outside these settings change nothing: " + without);
    Options options = read_options({lines.begin(), lines.end()}, problems);
    for (const std::string& problem : problems) complain(0, problem);
    options.engine = EngineChoice::ring;  // no other has samples
    options.formats.clear();              // drawn at the end, by this process
    return options;
}

int record_from_outside(char* const command[], const RunRequest& request, const Child::Environment& environment,
                        FinishedRun& run) {
    int status = 0;
    const auto ended = run_from_outside(command, environment, options_from_outside(request), run, status);
    if (!ended) return complain(status, ended.error().message);
    return tell_end(run, *ended, request.open);
}

}  // namespace

int run_command(int argc, char* argv[]) {
    auto request = parse_run(argc, argv);
    if (!request) return complain_of_usage("run", request.error().message);
    if (request->help) return std::fputs(usage().c_str(), stdout) < 0 ? 1 : 0;
#ifndef FLAMEPROBE_HAS_LIVE
    if (request->live)
        return complain(2,
                        "--live is not part of this build, which was made without libmicrohttpd (libmicrohttpd-dev)");
#endif
    if (request->command >= argc) return complain_of_usage("run", "name a command to run");
    const std::string formats = value_of(*request, "FLAMEPROBE_FORMAT", command_formats);
    FinishedRun run;
    run.out = whole_template(value_of(*request, "FLAMEPROBE_OUT", default_out));
    run.command = argv[request->command];
    run.formats = formats_of(formats);
    run.gates = request->gates;
    // With gates, and with options of pictures, which the library does not know, pictures are made after the run.
    run.draw = run.gates.any() || request->looks;
    const std::string log = value_of(*request, "FLAMEPROBE_LOG", "auto");
    run.told = log == "auto" || log == "stderr";
    run.look = request->settings.look;
    run.spool = value_of(*request, "FLAMEPROBE_PUSH");
    if (const auto problem = problem_with(run); !problem.empty()) return complain(2, problem);
    const std::string events = value_of(*request, "FLAMEPROBE_EVENT");
    const bool allocations = std::ranges::any_of(parts_of_list(events, ','), is_of_allocations);
    const auto libraries = libraries_to_preload(request->library, allocations);
    if (!libraries) return complain(2, libraries.error().message);
    const PreloadObstacle obstacle = preload_obstacle(argv[request->command]);
    const auto names = parts_of_list(events, ',');
    const bool tasks = std::ranges::find(names, event_name::tasks) != names.end();
    if (tasks && allocations)
        return complain(
            2, "--event: tasks are seen from outside, and a preloaded library counts allocations: ask for one of them");
    if (obstacle.from_outside && allocations)
        return complain(2, "--event: " + obstacle.why + ", and a preloaded library counts allocations");
    if (allocations) complain(0, allocator_note(argv[request->command]));
    complain(0, obstacle.why.empty() || !obstacle.from_outside
                    ? obstacle.why
                    : obstacle.why + ", so it is recorded from outside, as by flameprobe attach");
    Child::Environment environment = request->settings.variables;
    if (!obstacle.other_loader && !tasks) environment.emplace_back("LD_PRELOAD", preload_with(*libraries));
    environment.emplace_back("FLAMEPROBE_FORMAT", run.draw ? "none" : formats);
    // For the provenance: git is not run inside the program.
    if (!git_commit(working_directory()).empty()) environment.emplace_back("FLAMEPROBE_DIRTY", dirty_text());
    clock_gettime(CLOCK_REALTIME_COARSE, &run.start);  // the clock of file times
    int status = 0;
    if (obstacle.from_outside || tasks) return record_from_outside(argv + request->command, *request, environment, run);
    auto child = Child::start(argv + request->command, environment, status);
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
    run.cpu_ns = cpu_ns_of(child->usage());
    run.obstacle = !obstacle.why.empty();
    return tell_end(run, ended, request->open);
}

}  // namespace flameprobe

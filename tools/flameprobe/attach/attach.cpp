// flameprobe attach PID: a process that was started without FlameProbe.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../commands.hpp"
#include "../duration.hpp"
#include "../end_signals.hpp"
#include "../live/process_list.hpp"
#include "../run_check.hpp"
#include "../run_pictures.hpp"
#include "../settings_usage.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "command_line.hpp"
#include "literal_out.hpp"
#include "profile/names.hpp"
#include "recorders.hpp"
#include "refusal.hpp"
#include "render/text.hpp"
#include "session/family.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"
#include "session/settings.hpp"

namespace flameprobe {

namespace {

constexpr const char* attach_usage =
    "Usage: flameprobe attach [OPTIONS] PID\n"
    "Samples a process that was started without FlameProbe, from outside: nothing is loaded into it, and it runs on.\n"
    "Ends after --duration, with Ctrl-C, or when the process ends. Then it says what took the time, and draws "
    "pictures.\n"
    "\n"
    "  flameprobe attach -d 30s PID                  its CPU time\n"
    "  flameprobe attach -d 30s -e cpu,offcpu PID    and where its threads wait\n"
    "  flameprobe attach -d 30s --tree PID           and its children's\n";

struct AttachRequest {
    GivenSettings settings;
    std::uint64_t duration_ns = 0;  // 0: no end
    bool tree = false;
    bool help = false;
};

std::string usage() {
    using Group = SettingGroup;
    const std::string more = usage_line('d', "duration", "TIME", "30s, 5m, 1h (default: until Ctrl-C)") +
                             usage_line(0, "tree", "", "its children and theirs too, into one result");
    return attach_usage + settings_usage(Group::sampled, true, more) + settings_usage(Group::results, true) +
           settings_usage(Group::how, true) + "\nThe options are those of 'flameprobe run', see flameprobe(1).\n";
}

Problem take_duration(AttachRequest& request, const std::string& value) {
    return put(duration_ns(value), request.duration_ns);
}

std::vector<CommandOption<AttachRequest>> known_options() {
    std::vector<CommandOption<AttachRequest>> options;
    for (const Setting& setting : settings())
        if (setting.of_attach)
            options.push_back(
                {setting.option(), required_argument,
                 [&setting](AttachRequest& r, const std::string& v) { return r.settings.take(setting, v); },
                 setting.letter});
    options.push_back({"duration", required_argument, take_duration, 'd'});
    options.push_back({"tree", no_argument, always([](AttachRequest& r, const std::string&) { r.tree = true; })});
    options.push_back({"help", no_argument, always([](AttachRequest& r, const std::string&) { r.help = true; }), 'h'});
    return options;
}

Options options_of(const AttachRequest& request, const std::string& out) {
    std::vector<std::string> lines, problems;  // each was checked when it was taken
    for (const auto& [variable, value] : request.settings.variables) lines.push_back(variable + "=" + value);
    Options options = read_options({lines.begin(), lines.end()}, problems);
    options.engine = EngineChoice::ring;  // from outside no other has samples
    options.out = out;
    options.formats.clear();  // drawn at the end, by this process
    return options;
}

std::string told_begin(pid_t pid, std::size_t processes, std::uint64_t duration_ns) {
    const std::size_t threads = list_threads().size(), children = processes - 1;
    return "attached to process " + std::to_string(pid) + " (" + executable_name() + ", " + std::to_string(threads) +
           (threads == 1 ? " thread)" : " threads)") +
           (children != 0 ? " and " + std::to_string(children) + (children == 1 ? " child" : " children") : "") +
           (duration_ns == 0 ? ": Ctrl-C ends it" : " for " + duration_text(duration_ns) + ": Ctrl-C ends it sooner");
}

int attach_to(pid_t pid, const AttachRequest& request) {
    FinishedRun run;
    run.pid = ::getpid();
    run.formats = formats_of(request.settings.value("FLAMEPROBE_FORMAT", std::string(command_formats)));
    run.look = request.settings.look;
    run.target = pid;
    clock_gettime(CLOCK_REALTIME_COARSE, &run.start);
    watch_process(pid);
    run.out = literal_out(whole_template(request.settings.value("FLAMEPROBE_OUT", default_out)), pid, run.start);
    if (const auto problem = place_problem(run.out, executable_name(), run.formats); !problem.empty())
        return complain(2, "--out: " + problem);
    ::unsetenv("FLAMEPROBE_ROOT");  // else its results would be those of the run that this command is part of
    static_cast<void>(family());
    const std::string hidden = what_stays_hidden(pid);  // may wait for memory that does not come: Ctrl-C ends it here
    bool failed = false;
    {
        const EndSignals signals;
        Recorders recorders(pid, {options_of(request, run.out), run.start, {}, signals.get()}, request.tree);
        if (const auto started = recorders.start(); !started) return complain(1, started.error().message);
        complain(0, told_begin(pid, recorders.count(), request.duration_ns));
        complain(0, what_has_no_stacks(pid));
        complain(0, hidden);
        complain(0, what_stands_still(pid));
        recorders.wait(signals.get(), request.duration_ns);
        recorders.end(": flameprobe run has them");
        run.cpu_ns = recorders.cpu_ns();
        for (const std::string& problem : recorders.problems()) complain(0, problem);
        failed = recorders.failed();
    }
    const RunEnd end = end_run(run);
    const std::string here = working_directory() + "/";
    for (const std::string& line : end.lines) complain(0, line.starts_with(here) ? line.substr(here.size()) : line);
    return end.lost || failed ? 1 : 0;
}

}  // namespace

int attach_command(int argc, char* argv[]) {
    AttachRequest request;
    const auto first = take_options<AttachRequest>(argc, argv, known_options(), request);
    if (!first) return complain_of_usage("attach", first.error().message);
    if (request.help) return std::fputs(usage().c_str(), stdout) < 0 ? 1 : 0;
    const auto pid = process_id(argc - *first, argv + *first);
    if (!pid) return complain_of_usage("attach", pid.error().message);
    const Options options = options_of(request, default_out);
    if (std::ranges::all_of(options.shown, is_of_allocations))
        return complain(2,
                        "--event: a library in the process counts its allocations, which attach does not load; "
                        "flameprobe run -e alloc COMMAND shows them");
    if (const std::string why = why_not_attached(*pid, options.off_cpu()); !why.empty()) return complain(1, why);
    return attach_to(*pid, request);
}

}  // namespace flameprobe

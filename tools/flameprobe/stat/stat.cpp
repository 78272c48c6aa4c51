#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "../attach/refusal.hpp"
#include "../child.hpp"
#include "../commands.hpp"
#include "../duration.hpp"
#include "../end_signals.hpp"
#include "../live/process_list.hpp"
#include "../run_check.hpp"
#include "../status_text.hpp"
#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "command_line.hpp"
#include "counters.hpp"
#include "export/output_file.hpp"
#include "running.hpp"
#include "table.hpp"
#include "tasks.hpp"
#include "waiting.hpp"

namespace flameprobe {

namespace {

constexpr const char* stat_usage =
    "Usage: flameprobe stat [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
    "       flameprobe stat [OPTIONS] -p PID\n"
    "Runs COMMAND, with its exit status, and prints what it and its children used. Needs no privilege and no perf.\n"
    "With -p: what a process that runs already uses, without its children, until Ctrl-C or its end.\n"
    "\n"
    "  flameprobe stat -- make -j4              CPU time, memory, faults, switches, counters\n"
    "  flameprobe stat -e offcpu -- ./server    and how long and how often its threads wait\n"
    "  flameprobe stat -d 30s -p PID            of a process that runs already\n"
    "\n"
    "What is measured\n"
    "  -p, --pid PID         this process; nothing is loaded into it\n"
    "  -d, --duration TIME   with -p: ends after TIME, such as 30s\n"
    "  -e, --event LIST      with offcpu in it, also how long and how often threads wait, by system call:\n"
    "                        FlameProbe is loaded into COMMAND for that. Default: FLAMEPROBE_EVENT\n"
    "\n"
    "Output\n"
    "      --json            as JSON\n"
    "  -o, --out FILE        to FILE instead of standard error\n";

struct StatRequest {
    bool json = false, help = false;
    std::string events;
    std::string out;
    std::string pid;
    std::uint64_t duration_ns = 0;  // 0: no end
    int command = 0;                // index in argv
};

std::vector<CommandOption<StatRequest>> stat_options() {
    const auto events = [](StatRequest& r, const std::string& v) {
        r.events = v;
        return setting_problem("FLAMEPROBE_EVENT", v);
    };
    constexpr int none = no_argument, value = required_argument;
    return {
        {"event", value, events, 'e'},
        {"pid", value, always([](StatRequest& r, const std::string& v) { r.pid = v; }), 'p'},
        {"duration", value, [](StatRequest& r, const std::string& v) { return put(duration_ns(v), r.duration_ns); },
         'd'},
        {"json", none, always([](StatRequest& r, const std::string&) { r.json = true; }), 'j'},
        {"out", value, always([](StatRequest& r, const std::string& v) { r.out = v; }), 'o'},
        {"help", none, always([](StatRequest& r, const std::string&) { r.help = true; }), 'h'},
    };
}

Result<StatRequest> parse_stat(int argc, char* argv[]) {
    StatRequest request;
    if (const char* asked = getenv("FLAMEPROBE_EVENT")) request.events = asked;
    const auto first = take_options<StatRequest>(argc, argv, stat_options(), request, true);
    if (!first) return first.error();
    request.command = *first;
    return request;
}

bool counts_waits(const std::string& events) {
    const std::string list = "," + events + ",";
    return list.find(",offcpu,") != std::string::npos || list.find(",wall,") != std::string::npos;
}

/// False if it could not be written, after a message.
bool write_out(const StatRequest& request, const std::string& text) {
    if (request.out.empty()) return print_text(stderr, text);
    const auto written = write_file(request.out, text);
    if (!written) complain(0, written.error().message);
    return static_cast<bool>(written);
}

/// Why nothing could be written to the file at the end; empty if it can.
std::string output_problem(const std::string& path) {
    if (path.empty()) return {};
    const OutputFile trial(path);
    return trial.failed() ? "--out: " + trial.failure() : "";
}

/// Without a pidfd: its main thread may have ended before others.
bool has_ended_by_proc(pid_t pid) {
    const std::string stat = counting::text_of("/proc/" + std::to_string(pid) + "/stat");
    const std::string_view state = stat_field(stat, 3);
    return state.empty() || ((state == "Z" || state == "X") && stat_number(stat, 20) <= 1);
}

/// Until the time is over, a signal says so, or the process ends; true then.
bool watch(const StatRequest& request, pid_t pid, const std::function<void()>& look) {
    const EndSignals signals;
    const Descriptor life(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const std::uint64_t end = request.duration_ns == 0 ? ~std::uint64_t{0} : monotonic_ns() + request.duration_ns;
    for (;;) {
        const std::uint64_t now = monotonic_ns();
        if (now >= end) return false;
        constexpr std::uint64_t between_looks = 50 * ns_per_ms;
        const std::uint64_t pause = std::min(between_looks, end - now);
        const timespec time{static_cast<time_t>(pause / ns_per_second), static_cast<long>(pause % ns_per_second)};
        pollfd ends[] = {{signals.get(), POLLIN, 0}, {life.get(), POLLIN, 0}};
        ::ppoll(ends, std::size(ends), &time, nullptr);
        look();
        if (ends[0].revents != 0) return false;
        if (life ? ends[1].revents != 0 : has_ended_by_proc(pid)) return true;
    }
}

int stat_of_running(const StatRequest& request, pid_t pid) {
    if (const std::string why = why_not_seen(pid, "stat -p"); !why.empty()) return complain(1, why);
    watch_process(pid);  // so that its threads are those that are listed
    const auto threads = list_threads();
    if (threads.empty()) return complain(1, "there is no process " + std::to_string(pid));
    const auto counters = counting::EventCounters::of_running({threads.begin(), threads.end()});
    counting::RunningProcess process(pid);
    counting::Tasks tasks(pid, !counters.has("cpu-migrations"), false);
    tasks.look();
    tasks.begin();
    const std::uint64_t begin = monotonic_ns();
    const bool ended = watch(request, pid, [&] {
        tasks.look();
        process.look();
    });
    counting::Facts facts;
    facts.seconds = static_cast<double>(monotonic_ns() - begin) / 1e9;
    facts.command = process.name() + ", process " + std::to_string(pid);
    facts.ended = ended ? "it has ended" : "it goes on";
    facts.usage = process.used();
    facts.processes = tasks.processes();
    const auto rows = counting::rows_of(facts, counters);
    return write_out(request, request.json ? table_json(facts, rows) : table_text(facts, rows)) ? 0 : 1;
}

/// Why the request makes no sense; empty if it does.
std::string problem_of(const StatRequest& request, bool has_command) {
    if (request.pid.empty()) {
        if (request.duration_ns != 0) return "--duration is for --pid: a command ends by itself";
        return has_command ? "" : "name a command to run";
    }
    if (has_command) return "--pid takes no command";
    return counts_waits(request.events) ? "waits of a running process: flameprobe attach -e offcpu " + request.pid : "";
}

int stat_of_command(const StatRequest& request, int argc, char* argv[]) {
    std::optional<counting::WaitingRun> waits;
    if (counts_waits(request.events)) {
        auto prepared = counting::WaitingRun::prepare(argv[request.command]);
        if (!prepared) return complain(2, prepared.error().message);
        waits.emplace(std::move(*prepared));
    }
    std::optional<counting::EventCounters> counters;
    std::uint64_t begin = 0;
    int status = 0;
    auto child = Child::start(argv + request.command, waits ? waits->environment() : Child::Environment{}, status,
                              [&](pid_t pid) {
                                  counters.emplace(pid);
                                  begin = monotonic_ns();
                              });
    if (!child) return complain(status, child.error().message);
    counting::Tasks tasks(child->pid(), !counters->has("cpu-migrations"));
    const int ended = child->wait([&tasks] { tasks.look(); });
    counting::Facts facts;
    facts.seconds = static_cast<double>(monotonic_ns() - begin) / 1e9;
    for (int i = request.command; i < argc; ++i)
        facts.command += (i > request.command ? " " : "") + std::string(argv[i]);
    facts.ended = status_text(ended);
    facts.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    facts.usage = child->usage();
    facts.processes = tasks.processes();
    if (waits) facts.waiting = waits->read();
    const auto rows = counting::rows_of(facts, *counters);
    const bool written = write_out(request, request.json ? table_json(facts, rows) : table_text(facts, rows));
    return ended == 0 && !written && !request.out.empty() ? 1 : end_like(ended);
}

}  // namespace

int stat_command(int argc, char* argv[]) {
    const auto request = parse_stat(argc, argv);
    if (!request) return complain_of_usage("stat", request.error().message);
    if (request->help) return std::fputs(stat_usage, stdout) < 0 ? 1 : 0;
    if (const auto problem = problem_of(*request, request->command < argc); !problem.empty())
        return complain_of_usage("stat", problem);
    if (const auto problem = output_problem(request->out); !problem.empty()) return complain(2, problem);
    if (request->pid.empty()) return stat_of_command(*request, argc, argv);
    char* one[] = {const_cast<char*>(request->pid.c_str())};
    const auto pid = process_id(1, one);
    return pid ? stat_of_running(*request, *pid) : complain(2, pid.error().message);
}

}  // namespace flameprobe

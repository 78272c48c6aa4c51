#include <getopt.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "../child.hpp"
#include "../commands.hpp"
#include "../run_check.hpp"
#include "base/clock.hpp"
#include "counters.hpp"
#include "export/output_file.hpp"
#include "table.hpp"
#include "tasks.hpp"
#include "waiting.hpp"

namespace flameprobe {

namespace {

constexpr const char* stat_usage =
    "Usage: flameprobe stat [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
    "Runs COMMAND, with its exit status, and prints what it and its children used. Needs no privilege and no perf.\n"
    "\n"
    "  -e, --event LIST      with offcpu in it, also how long and how often threads wait, by system call:\n"
    "                        FlameProbe is loaded into COMMAND for that. Default: FLAMEPROBE_EVENT\n"
    "      --json            as JSON\n"
    "  -o, --out FILE        to FILE instead of standard error\n";

struct StatRequest {
    bool json = false, help = false;
    std::string events;
    std::string problem;
    std::string out;
    int command = 0;  // index in argv
};

std::optional<StatRequest> parse_stat(int argc, char* argv[]) {
    constexpr option options[] = {{"event", required_argument, nullptr, 'e'},
                                  {"json", no_argument, nullptr, 'j'},
                                  {"out", required_argument, nullptr, 'o'},
                                  {"help", no_argument, nullptr, 'h'},
                                  {nullptr, 0, nullptr, 0}};
    StatRequest request;
    if (const char* asked = getenv("FLAMEPROBE_EVENT")) request.events = asked;
    optind = 0;
    for (int letter; (letter = getopt_long(argc, argv, "+e:o:jh", options, nullptr)) != -1;) {
        if (letter == '?') return std::nullopt;
        if (letter == 'j') request.json = true;
        if (letter == 'h') request.help = true;
        if (letter == 'o') request.out = optarg;
        if (letter != 'e') continue;
        request.events = optarg;
        if (const auto problem = setting_problem("FLAMEPROBE_EVENT", optarg); !problem.empty())
            request.problem = "--event: " + problem;
    }
    request.command = optind;
    return request;
}

bool counts_waits(const std::string& events) {
    const std::string list = "," + events + ",";
    return list.find(",offcpu,") != std::string::npos || list.find(",wall,") != std::string::npos;
}

std::string ended_text(int status) {
    if (WIFEXITED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
    const char* name = sigabbrev_np(WTERMSIG(status));
    return "killed by SIG" + std::string(name != nullptr ? name : "?");
}

/// False if it could not be written, after a message.
bool write_out(const StatRequest& request, const std::string& text) {
    if (request.out.empty()) return print_text(stderr, text);
    OutputFile file(request.out);
    if (!file.failed()) file.write(text);
    const auto written = file.commit();
    if (!written) complain(0, written.error().message);
    return static_cast<bool>(written);
}

}  // namespace

int stat_command(int argc, char* argv[]) {
    const auto request = parse_stat(argc, argv);
    if (!request) return complain(2, "Try 'flameprobe stat --help'.");
    if (request->help) return std::fputs(stat_usage, stdout) < 0 ? 1 : 0;
    if (request->command >= argc) return complain(2, "name a command to run. Try 'flameprobe stat --help'.");
    if (!request->problem.empty()) return complain(2, request->problem);
    std::optional<counting::WaitingRun> waits;
    if (counts_waits(request->events)) {
        auto prepared = counting::WaitingRun::prepare(argv[request->command]);
        if (!prepared) return complain(2, prepared.error().message);
        waits.emplace(std::move(*prepared));
    }
    std::optional<counting::EventCounters> counters;
    std::uint64_t begin = 0;
    int status = 0;
    auto child = Child::start(argv + request->command, waits ? waits->environment() : Child::Environment{}, status,
                              [&](pid_t pid) {
                                  counters.emplace(pid);
                                  begin = monotonic_ns();
                              });
    if (!child) return complain(status, child.error().message);
    counting::Tasks tasks(child->pid(), !counters->has("cpu-migrations"));
    const int ended = child->wait([&tasks] { tasks.look(); });
    counting::Facts facts;
    facts.seconds = static_cast<double>(monotonic_ns() - begin) / 1e9;
    for (int i = request->command; i < argc; ++i)
        facts.command += (i > request->command ? " " : "") + std::string(argv[i]);
    facts.ended = ended_text(ended);
    facts.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    facts.usage = child->usage();
    facts.processes = tasks.processes();
    if (waits) facts.waiting = waits->read();
    const auto rows = counting::rows_of(facts, *counters);
    write_out(*request, request->json ? table_json(facts, rows) : table_text(facts, rows));
    return end_like(ended);
}

}  // namespace flameprobe

#include "flameprobe_program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/closest.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "memory_budget.hpp"
#include "profile/format.hpp"
#include "render_program.hpp"

namespace flameprobe {

namespace {

constexpr const char* commands_usage =
    "Usage: flameprobe COMMAND [OPTIONS]\n"
    "Shows where a program's CPU time goes, and where its threads wait, in one sentence and a flame graph.\n"
    "\n"
    "  flameprobe run -- ./server                  a program from its start on, with its children\n"
    "  flameprobe run -e cpu,offcpu -- ./server    and where its threads wait\n"
    "  flameprobe attach -d 30s PID                one that runs already\n"
    "\n"
    "Profile\n"
    "  flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]    run a program, get a flame graph of it\n"
    "  flameprobe attach [-d 30s] PID                       the same of a process that runs already\n"
    "  flameprobe top [PID]                                 what a running program spends its CPU time on\n"
    "  flameprobe live PID                                  the same as a page that refreshes itself\n"
    "  flameprobe stat [--json] [--] COMMAND [ARGUMENTS]    what it uses: CPU time, switches, faults, counters\n"
    "  flameprobe doctor [PROGRAM]                          what works here, what does not, what mends it\n"
    "\n"
    "Use profiles\n"
    "  flameprobe render INPUT... -o OUTPUT                 pictures and tables of them, as flameprobe-render\n"
    "  flameprobe compare OLD NEW [--fail-above 3%]         what changed beyond noise, of profiles or benches\n"
    "  flameprobe bench FILE.toml [-o DIR]                  scenarios under load: CPU time per unit of work, scaling\n"
    "  flameprobe push --spool DIR --to URL                 send them to Pyroscope, Parca or a Collector\n"
    "\n"
    "'flameprobe COMMAND --help' lists a command's options; flameprobe(1) has all of it. --version, -h, --help\n";

/// A file that is opened later would else take the place of a closed standard descriptor. What is written there fails
/// as before.
void fill_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

[[maybe_unused]] int not_built(const std::string& command, const std::string& library) {
    return complain(1, command + " is not part of this build, which was made without " + library);
}

int push([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_PUSH
    return push_command(argc, argv);
#else
    return not_built("push", "libcurl (libcurl4-openssl-dev)");
#endif
}

int top([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_TOP
    return top_command(argc, argv);
#else
    return not_built("top", "ncurses (libncurses-dev)");
#endif
}

int live([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_LIVE
    return live_command(argc, argv);
#else
    return not_built("live", "libmicrohttpd (libmicrohttpd-dev)");
#endif
}

struct Command {
    const char* name;
    int (*run)(int argc, char* argv[]);
    bool limited = false;  // to a budget of memory: those that start programs would hand it on to them
};
constexpr Command commands[] = {
    {"run", run_command},   {"attach", attach_command}, {"bench", bench_command}, {"compare", compare_command, true},
    {"stat", stat_command}, {"top", top, true},         {"live", live, true},     {"render", render_program},
    {"push", push, true},   {"doctor", doctor_command}};

int main_command(int argc, char* argv[]) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    std::vector<std::string> names;
    for (const Command& known : commands) {
        names.emplace_back(known.name);
        if (command != known.name) continue;
        if (known.limited) set_memory_budget(default_memory_budget());
        return known.run(argc - 1, argv + 1);
    }
    if (command == "--help" || command == "-h") return std::fputs(commands_usage, stdout) < 0 ? 1 : 0;
    if (command == "--version")
        return std::printf("flameprobe " FLAMEPROBE_VERSION ", profiles of format %u\n", unsigned{format::version}) < 0
                   ? 1
                   : 0;
    if (command.empty()) {
        complain(2, "name a command");
        std::fputs(commands_usage, stderr);
        return 2;
    }
    const std::string meant = closest(command, names);
    return complain(2, "'" + std::string(command) + "' is no command; " +
                           (meant.empty() ? "try" : "did you mean '" + meant + "'? Try") + " 'flameprobe --help'");
}

}  // namespace

int flameprobe_program(int argc, char* argv[]) try {
    fill_standard_descriptors();
    return main_command(argc, argv);
} catch (const std::bad_alloc&) {
    return complain(1, memory_message());
} catch (const std::exception& exception) {
    return complain(1, exception.what());
}

}  // namespace flameprobe

// The program flameprobe, which has its functions as commands.
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "memory_budget.hpp"

namespace {

constexpr const char* usage =
    "Usage: flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]    run a program, get a flame graph of it\n"
    "       flameprobe bench FILE.toml [-o DIR]                  scenarios under load: CPU time per unit of work, "
    "scaling\n"
    "       flameprobe compare OLD NEW [--fail-above 3%]         what changed beyond noise, of benches or profiles\n"
    "       flameprobe stat [--json] [--] COMMAND [ARGUMENTS]    what a program uses: time, switches, faults, "
    "counters\n"
    "       flameprobe top PID                                   what a running program spends its CPU time on\n"
    "       flameprobe live PID                                  the same as a page that refreshes itself\n"
    "       flameprobe push --spool DIR --to URL                 send profiles to Pyroscope, Parca or a Collector\n"
    "       flameprobe doctor [PROGRAM]                          what works here, what does not, what mends it\n"
    "       flameprobe --version | --help\n"
    "See flameprobe(1), and flameprobe-render(1) for what can be done with the results.\n";

[[maybe_unused]] int not_built(const std::string& command, const std::string& library) {
    return flameprobe::complain(1, command + " is not part of this build, which was made without " + library);
}

int push([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_PUSH
    return flameprobe::push_command(argc, argv);
#else
    return not_built("push", "libcurl (libcurl4-openssl-dev)");
#endif
}

int top([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_TOP
    return flameprobe::top_command(argc, argv);
#else
    return not_built("top", "ncurses (libncurses-dev)");
#endif
}

int live([[maybe_unused]] int argc, [[maybe_unused]] char* argv[]) {
#ifdef FLAMEPROBE_HAS_LIVE
    return flameprobe::live_command(argc, argv);
#else
    return not_built("live", "libmicrohttpd (libmicrohttpd-dev)");
#endif
}

int main_command(int argc, char* argv[]) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    // Those that start programs would hand the budget on to them.
    if (command == "compare" || command == "top" || command == "live" || command == "push")
        flameprobe::set_memory_budget(flameprobe::default_memory_budget());
    if (command == "run") return flameprobe::run_command(argc - 1, argv + 1);
    if (command == "bench") return flameprobe::bench_command(argc - 1, argv + 1);
    if (command == "compare") return flameprobe::compare_command(argc - 1, argv + 1);
    if (command == "stat") return flameprobe::stat_command(argc - 1, argv + 1);
    if (command == "top") return top(argc - 1, argv + 1);
    if (command == "live") return live(argc - 1, argv + 1);
    if (command == "push") return push(argc - 1, argv + 1);
    if (command == "doctor") return flameprobe::doctor_command(argc - 1, argv + 1);
    if (command == "--help" || command == "-h") return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (command == "--version") return std::puts("flameprobe " FLAMEPROBE_VERSION) < 0 ? 1 : 0;
    const std::string why = command.empty() ? "name a command" : "'" + std::string(command) + "' is no command";
    flameprobe::complain(2, why);
    std::fputs(usage, stderr);
    return 2;
}

}  // namespace

int main(int argc, char* argv[]) try { return main_command(argc, argv); } catch (const std::bad_alloc&) {
    return flameprobe::complain(1, flameprobe::memory_message());
} catch (const std::exception& exception) {
    return flameprobe::complain(1, exception.what());
}

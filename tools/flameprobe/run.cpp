#include "run.hpp"

#include <getopt.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "child.hpp"
#include "preload_path.hpp"
#include "program.hpp"
#include "results.hpp"

namespace flameprobe {

namespace {

constexpr const char* usage =
    "Usage: flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
    "Runs COMMAND under the profiler, with its exit status, and ends with the path of the picture.\n"
    "\n"
    "  -F, --freq HZ         samples a second of CPU time, per thread (default 99)\n"
    "  -o, --out PATH        where the results go, without the ending; %e name, %p pid, %t time, %n dump, %%\n"
    "  -f, --format LIST     folded, svg, html, pprof, speedscope, firefox, json, none (default folded,svg)\n"
    "      --engine NAME     auto, ring, signal, timer\n"
    "      --unwind NAME     auto, dwarf, fp\n"
    "      --stack BYTES     of stack copied with each sample\n"
    "      --event NAME      cpu-clock, task-clock, ...\n"
    "      --kernel WHEN     auto, on, off\n"
    "      --start 0|1       0: wait for the API or the signal\n"
    "      --signal NAME     a signal that starts and stops sampling\n"
    "      --dump-every T    write a result every so often: 30s, 5m\n"
    "      --max-size BYTES      of a profile on disk: 64M, 2G\n"
    "      --debug-dir LIST      where separate debug files are, beside /usr/lib/debug\n"
    "      --children WHEN   on, off: profile child processes too\n"
    "      --log WHERE       auto, quiet, stderr, or a file\n"
    "      --library FILE    the libflameprobe.so to load\n"
    "\n"
    "Each option sets the variable FLAMEPROBE_<NAME>, which is described in flameprobe(1).\n";

struct Setting {
    const char* option;
    int letter;
    const char* variable;
};

constexpr std::array settings = {
    Setting{"freq", 'F', "FLAMEPROBE_FREQ"},
    Setting{"out", 'o', "FLAMEPROBE_OUT"},
    Setting{"format", 'f', "FLAMEPROBE_FORMAT"},
    Setting{"engine", 256, "FLAMEPROBE_ENGINE"},
    Setting{"unwind", 257, "FLAMEPROBE_UNWIND"},
    Setting{"stack", 258, "FLAMEPROBE_STACK"},
    Setting{"event", 259, "FLAMEPROBE_EVENT"},
    Setting{"kernel", 260, "FLAMEPROBE_KERNEL"},
    Setting{"start", 261, "FLAMEPROBE_START"},
    Setting{"signal", 262, "FLAMEPROBE_SIGNAL"},
    Setting{"dump-every", 263, "FLAMEPROBE_DUMP_EVERY"},
    Setting{"children", 264, "FLAMEPROBE_CHILDREN"},
    Setting{"log", 265, "FLAMEPROBE_LOG"},
    Setting{"max-size", 266, "FLAMEPROBE_MAX_SIZE"},
    Setting{"debug-dir", 267, "FLAMEPROBE_DEBUG_DIR"},
};
constexpr int library_option = 300;

struct Request {
    Child::Environment environment;
    std::string out = "flameprobe.%e.%p";
    std::string library;
    bool help = false;
    int command = 0;  // index in argv
};

std::optional<Request> parse(int argc, char* argv[]) {
    std::array<option, settings.size() + 3> options{};
    for (std::size_t i = 0; i < settings.size(); ++i) {
        options[i] = {settings[i].option, required_argument, nullptr, settings[i].letter};
    }
    options[settings.size()] = {"library", required_argument, nullptr, library_option};
    options[settings.size() + 1] = {"help", no_argument, nullptr, 'h'};
    Request request;
    if (const char* out = getenv("FLAMEPROBE_OUT"); out != nullptr && *out != '\0') request.out = out;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, "+F:o:f:h", options.data(), nullptr)) != -1;) {
        if (option == '?') return std::nullopt;
        if (option == 'h') request.help = true;
        if (option == library_option) request.library = optarg;
        if (option == 'o') request.out = optarg;
        for (const Setting& setting : settings) {
            if (setting.letter == option) request.environment.emplace_back(setting.variable, optarg);
        }
    }
    request.command = optind;
    return request;
}

int complain(int status, const std::string& message) {
    std::fprintf(stderr, "flameprobe: %s\n", message.c_str());
    return status;
}

void tell_results(const Request& request, pid_t pid, const timespec& start) {
    const FoundResults found = find_results(request.out, pid, start);
    if (found.best.empty()) {
        complain(0,
                 "no picture: the command took no samples (it used next to no CPU time, or the library said why not)");
        return;
    }
    if (found.others > 0)
        complain(0, std::to_string(found.others) + " more results, of its child processes, lie beside it");
    complain(0, found.best);
}

}  // namespace

int run_command(int argc, char* argv[]) {
    auto request = parse(argc, argv);
    if (!request) return complain(2, "Try 'flameprobe run --help'.");
    if (request->help) return std::fputs(usage, stdout) < 0 ? 1 : 0;
    if (request->command >= argc) return complain(2, "name a command to run. Try 'flameprobe run --help'.");
    if (request->library.empty()) {
        auto library = find_library();
        if (!library) return complain(2, library.error().message);
        request->library = *library;
    }
    if (const std::string obstacle = preload_obstacle(argv[request->command]); !obstacle.empty()) complain(0, obstacle);
    request->environment.emplace_back("LD_PRELOAD", preload_with(request->library));
    timespec start{};
    clock_gettime(CLOCK_REALTIME_COARSE, &start);  // the clock of file times
    int status = 0;
    auto child = Child::start(argv + request->command, request->environment, status);
    if (!child) return complain(status, child.error().message);
    const int ended = child->wait();
    tell_results(*request, child->pid(), start);
    return end_like(ended);
}

}  // namespace flameprobe

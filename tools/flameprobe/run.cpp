#include "run.hpp"

#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "child.hpp"
#include "preload_path.hpp"
#include "program.hpp"
#include "results.hpp"
#include "session/options.hpp"

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
    return text + "\nEach option sets the variable FLAMEPROBE_<NAME>, which is described in flameprobe(1).\n";
}

constexpr int library_option = 300;

struct Request {
    Child::Environment environment;
    std::string out = "flameprobe.%e.%p";
    std::string library;
    bool help = false;
    int command = 0;  // index in argv
};

std::optional<Request> parse(int argc, char* argv[]) {
    constexpr int first_setting = 1000;  // getopt's value of settings()[0]
    std::vector<std::string> names;
    for (const Setting& setting : settings()) names.push_back(setting.option());
    std::vector<option> options;
    for (const std::string& name : names) {
        options.push_back({name.c_str(), required_argument, nullptr, first_setting + static_cast<int>(options.size())});
    }
    options.push_back({"library", required_argument, nullptr, library_option});
    options.push_back({"help", no_argument, nullptr, 'h'});
    options.push_back({});
    std::string letters = "+h";
    for (const Setting& setting : settings()) {
        if (setting.letter != 0) letters += {setting.letter, ':'};
    }
    Request request;
    if (const char* out = getenv("FLAMEPROBE_OUT"); out != nullptr && *out != '\0') request.out = out;
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, letters.c_str(), options.data(), nullptr)) != -1;) {
        if (option == '?') return std::nullopt;
        if (option == 'h') request.help = true;
        if (option == library_option) request.library = optarg;
        for (std::size_t i = 0; i < settings().size(); ++i) {
            const Setting& setting = settings()[i];
            if (option != first_setting + static_cast<int>(i) && (setting.letter == 0 || option != setting.letter))
                continue;
            request.environment.emplace_back(setting.variable, optarg);
            if (setting.variable == "FLAMEPROBE_OUT") request.out = optarg;
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
    if (request->help) return std::fputs(usage().c_str(), stdout) < 0 ? 1 : 0;
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

// flameprobe-draw: started at the end of a run by the library in the profiled program, not by users. Its lines on
// standard output are for that: "wrote PATH", "problem: SENTENCE", "done", and empty ones while it works.
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "run_result.hpp"

namespace flameprobe {

namespace {

constexpr int failed = 1, wrong_usage = 2;

void tell(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

/// Says that it goes on, so that the program whose end waits for it does not give up.
void breathe() {
    std::thread([] {
        for (;;) {
            tell("");
            std::this_thread::sleep_for(std::chrono::seconds(1));
        }
    }).detach();
}

int draw(int argc, char** argv) {
    if (argc < 2 || !std::string_view(argv[1]).ends_with(".run")) {
        std::fputs("flameprobe-draw is started by libflameprobe.so; flameprobe-render is for users\n", stderr);
        return wrong_usage;
    }
    RunResult run;
    run.folder = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string_view argument = argv[i];
        constexpr std::string_view format = "--format=", directory = "--debug-dir=";
        if (argument.starts_with(format)) {
            if (auto known = format_by_path("x" + std::string(argument.substr(format.size()))))
                run.formats.push_back(*known);
        } else if (argument.starts_with(directory)) {
            run.debug_directories.emplace_back(argument.substr(directory.size()));
        } else {
            return wrong_usage;
        }
    }
    breathe();
    const RunMessages messages = write_run_result(run);
    for (const std::string& path : messages.wrote) tell("wrote " + path);
    for (const std::string& problem : messages.problems) tell("problem: " + problem);
    tell("done");
    return 0;
}

}  // namespace

}  // namespace flameprobe

int main(int argc, char** argv) try { return flameprobe::draw(argc, argv); } catch (const std::exception& exception) {
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
    flameprobe::tell(std::string("problem: not drawn: ") +
                     (no_memory ? "there is not enough memory" : exception.what()));
    return flameprobe::failed;
}

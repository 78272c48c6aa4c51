#include "draw_program.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/descriptor.hpp"
#include "base/work_steps.hpp"
#include "memory_budget.hpp"
#include "outside/compactor.hpp"
#include "profile_pictures.hpp"

namespace flameprobe {

namespace {

constexpr int failed = 1, wrong_usage = 2;
constexpr int low_priority = 10;  // setpriority(2)

void tell(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

/// Says that the work goes on, so that the program whose end waits for it does not give up. By the work's own steps: a
/// thread that says so goes on where the work does not.
void tell_steps() {
    after_work_step = [] { tell(""); };
}

/// Where memory runs out this program ends, not the host that waits for it (proc(5)).
void end_before_the_host() {
    std::ofstream("/proc/self/oom_score_adj") << "1000";
    set_memory_budget(default_memory_budget());
}

struct Order {
    std::string input, stem;  // no stem: the input is a run's folder
    ResultOptions options;
    bool compact = false;  // into the file that is standard input, rather than draw
};

bool understand(std::string_view argument, Order& order) {
    constexpr std::string_view format = "--format=", stem = "--stem=";
    if (argument.starts_with(format)) {
        if (auto known = format_by_path("x" + std::string(argument.substr(format.size()))))
            order.options.formats.push_back(*known);
    } else if (argument.starts_with(stem)) {
        order.stem = argument.substr(stem.size());
    } else if (argument == "--compact") {
        order.compact = true;
    } else if (argument == "--low-priority") {
        ::setpriority(PRIO_PROCESS, 0, low_priority);
    } else if (argument.starts_with("--")) {
        return take_option(argument, order.options.look).empty();
    } else if (order.input.empty()) {
        order.input = argument;
    } else {
        return false;
    }
    return true;
}

void compact(const std::string& profile, ResultMessages& messages) {
    const auto done = compact_profile(profile, Descriptor(STDIN_FILENO));
    if (!done) messages.problems.push_back(done.error().message);
}

int draw(int argc, char** argv) {
    Order order;
    order.options.look.host_waits = true;
    for (int i = 1; i < argc; ++i)
        if (!understand(argv[i], order)) return wrong_usage;
    if (!order.input.ends_with(order.stem.empty() && !order.compact ? ".run" : ".fprobe")) {
        std::fputs("flameprobe-draw is started by libflameprobe.so; flameprobe-render is for users\n", stderr);
        return wrong_usage;
    }
    end_before_the_host();
    tell_steps();
    ResultMessages messages;
    if (order.compact)
        compact(order.input, messages);
    else if (order.stem.empty())
        messages = write_run_result(order.input, order.options);
    else
        draw_profile(order.input, order.stem, order.options, messages);
    for (const std::string& path : messages.wrote) tell("wrote " + path);
    for (const std::string& problem : messages.problems) tell("problem: " + problem);
    tell("done");
    return 0;
}

int draw_or_say(int argc, char** argv) try { return draw(argc, argv); } catch (const std::exception& exception) {
    const bool no_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
    tell(std::string("problem: ") + (no_memory ? memory_message() : exception.what()));
    return failed;
}

/// The host's limit of a stack (ulimit -s) is this program's too, and each of its threads'. Gives whether it was too
/// small: then threads that are made from now on have enough.
bool enlarge_stacks() {
    constexpr std::size_t enough = std::size_t{8} << 20;
    pthread_attr_t attributes;
    std::size_t size = 0;
    if (::pthread_getattr_default_np(&attributes) != 0) return false;
    const bool little = ::pthread_attr_getstacksize(&attributes, &size) == 0 && size < enough;
    const bool enlarged = little && ::pthread_attr_setstacksize(&attributes, enough) == 0 &&
                          ::pthread_setattr_default_np(&attributes) == 0;
    ::pthread_attr_destroy(&attributes);
    return enlarged;
}

}  // namespace

int draw_program(int argc, char* argv[]) try {
    if (!enlarge_stacks()) return draw_or_say(argc, argv);
    int status = failed;
    std::thread([&] { status = draw_or_say(argc, argv); }).join();
    return status;
} catch (const std::system_error&) {
    return draw_or_say(argc, argv);
}

}  // namespace flameprobe

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "../attach/refusal.hpp"
#include "../attach/short_recording.hpp"
#include "../commands.hpp"
#include "base/clock.hpp"
#include "command_line.hpp"
#include "growing_profile.hpp"
#include "outside/counters.hpp"
#include "process_list.hpp"
#include "render/text.hpp"
#include "screen.hpp"
#include "top_view.hpp"

namespace flameprobe {

namespace {

constexpr const char* top_usage =
    "Usage: flameprobe top [--once] [PID]\n"
    "What a program spends its CPU time on, now: in one sentence, then by threads, scopes and functions. Of one that "
    "is\n"
    "being profiled the growing .fprobe is read, which costs it nothing. Another one is sampled meanwhile, as by "
    "attach.\n"
    "\n"
    "  flameprobe top               the processes that can be looked at, by CPU time\n"
    "  flameprobe top PID           one of them, until q\n"
    "  flameprobe top --once PID    the same on standard output, once\n"
    "\n"
    "      --once            print all of the run so far (of 3 s, if it is not being profiled), and end\n"
    "\n"
    "Keys\n"
    "  q ends, t orders by self or total, w changes the stretch of time (10 s, 60 s, all). Space stops the\n"
    "  refreshing; arrows and page keys move.\n";

constexpr const char* help = "q quit  t self/total  w time  space pause  arrows move";

struct Window {
    const char* text;
    std::optional<std::uint64_t> ns;
};
constexpr std::array windows = {Window{"last 10 s", 10'000'000'000}, Window{"last 60 s", 60'000'000'000},
                                Window{"since the start", std::nullopt}};

constexpr std::uint64_t enough_ns = 3 * ns_per_second;
constexpr const char* seen_for_text = "seen for 3 s";
constexpr std::size_t rows_at_once = 30;  // what a person reads

volatile sig_atomic_t interrupted = 0;

/// Ctrl-C is a way to end it like any other. Set before ncurses, which else ends the program with status 1.
void end_on_interrupt() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, nullptr);
}

std::uint64_t cpu_ns_of(pid_t pid) { return read_clock(process_cpu_clock(static_cast<std::uint32_t>(pid))); }

/// `before_ns`: its CPU time when we began to record it from outside; nothing: we do not. Then there is no profile
/// until there is a sample.
std::string why_nothing(const GrowingProfile& growing, const Error& error, std::optional<std::uint64_t> before_ns) {
    if (!before_ns || growing.found()) return error.message;
    const std::string number = std::to_string(growing.pid());
    if (!growing.running()) return "process " + number + " has ended without a sample";
    constexpr std::uint64_t little_ns = 50 * ns_per_ms;
    const std::uint64_t used = cpu_ns_of(growing.pid()) - *before_ns;
    const std::string none = "there is no sample of process " + number + " yet";
    if (used < little_ns)
        return none + ", since it uses little CPU time; flameprobe attach -e offcpu " + number +
               " shows where it waits";
    if (std::string why = what_it_executes(growing.pid()); !why.empty()) return why;
    return none + ", though it used " + duration_text(used) + " of CPU time; flameprobe attach " + number +
           " tells what is wrong";
}

/// Beside the event that is shown, where a deadlock's threads wait.
Result<NamedProfile> read_all(GrowingProfile& growing, std::optional<std::uint64_t> window_ns) {
    auto profile = growing.read(window_ns, false);
    if (!profile || deadlocks(profile->summary.counters).empty() || counts_waiting(profile->run)) return profile;
    if (auto waits = growing.read(window_ns, false, std::string(event_name::offcpu)))
        profile->others.push_back(std::move(*waits));
    return profile;
}

/// One profile, kept until the next is read.
class Top {
public:
    Top(pid_t pid, Screen screen, std::optional<std::uint64_t> before_ns)
        : growing_(pid), screen_(std::move(screen)), before_ns_(before_ns) {}

    void run() {
        bool quit = false;
        for (auto next = std::chrono::steady_clock::now(); !quit && interrupted == 0;) {
            if (!paused_ && std::chrono::steady_clock::now() >= next) {
                read();
                next = std::chrono::steady_clock::now() + growing_.pause();
            }
            show();
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
            switch (screen_.wait(std::clamp(left, std::chrono::milliseconds(20), std::chrono::milliseconds(1000)))) {
                case Screen::Key::quit:
                    quit = true;
                    break;
                case Screen::Key::order:
                    options_.by_total = !options_.by_total;
                    break;
                case Screen::Key::window:
                    window_ = (window_ + 1) % windows.size();
                    next = std::chrono::steady_clock::now();
                    break;
                case Screen::Key::pause:
                    paused_ = !paused_;
                    break;
                case Screen::Key::up:
                    options_.first -= std::min<std::size_t>(options_.first, 1);
                    break;
                case Screen::Key::down:
                    ++options_.first;
                    break;
                case Screen::Key::page_up:
                    options_.first -= std::min(options_.first, screen_.rows() / 2);
                    break;
                case Screen::Key::page_down:
                    options_.first += screen_.rows() / 2;
                    break;
                default:
                    break;
            }
        }
    }

private:
    void read() {
        auto profile = read_all(growing_, windows[window_].ns);
        options_.running = growing_.running();
        if (profile) {
            profile_ = std::move(*profile);
            problem_.clear();
        } else {
            problem_ = why_nothing(growing_, profile.error(), before_ns_);
        }
    }
    void show() {
        options_.columns = screen_.columns();
        options_.rows = screen_.rows() - std::min<std::size_t>(screen_.rows(), 1);
        const bool all = !windows[window_].ns;
        options_.window = all && before_ns_ ? "since the first look" : windows[window_].text;
        std::vector<TopLine> lines;
        if (profile_) {
            options_.first = std::min(options_.first, profile_->functions.empty() ? 0 : profile_->functions.size() - 1);
            lines = top_view(*profile_, options_);
        }
        if (!problem_.empty())
            lines.insert(lines.begin(), {LineKind::title, fit_columns(clean_text(problem_), options_.columns)});
        screen_.show(lines, paused_ ? std::string("paused  ") + help : help);
    }

    GrowingProfile growing_;
    Screen screen_;
    const std::optional<std::uint64_t> before_ns_;
    TopOptions options_;
    std::size_t window_ = 0;
    bool paused_ = false;
    std::optional<NamedProfile> profile_;
    std::string problem_;
};

/// For three seconds, or until the process ends. Its profile is opened as soon as there is one, since it is gone with
/// the process.
void let_it_run(const Recorder& recorder, GrowingProfile& growing) {
    constexpr int between_looks_ms = 20;
    pollfd life{recorder.life().get(), 0, 0};
    const std::uint64_t end = monotonic_ns() + enough_ns;
    while (monotonic_ns() < end && ::poll(&life, 1, between_looks_ms) == 0) static_cast<void>(growing.find());
}

int print_once(pid_t pid, const std::optional<Recorder>& recorder, std::optional<std::uint64_t> before_ns) {
    GrowingProfile growing(pid);
    if (recorder) let_it_run(*recorder, growing);
    const auto profile = read_all(growing, std::nullopt);
    if (!profile) return complain(1, why_nothing(growing, profile.error(), before_ns));
    TopOptions options{.columns = 200,
                       .rows = rows_at_once,
                       .window = recorder ? seen_for_text : windows.back().text,
                       .running = growing.running()};
    for (const TopLine& line : top_view(*profile, options)) print_text(stdout, line.text + "\n");
    return std::fflush(stdout) == 0 ? 0 : complain(1, "standard output cannot be written");
}

}  // namespace

int top_command(int argc, char* argv[]) {
    struct Request {
        bool once = false, help = false;
    } request;
    const std::vector<CommandOption<Request>> options = {
        {"once", no_argument, always([](Request& r, const std::string&) { r.once = true; })},
        {"help", no_argument, always([](Request& r, const std::string&) { r.help = true; }), 'h'},
    };
    const auto first = take_options<Request>(argc, argv, options, request);
    if (!first) return complain_of_usage("top", first.error().message);
    if (request.help) return std::fputs(top_usage, stdout) < 0 ? 1 : 0;
    if (*first == argc) {
        if (const std::string why = why_no_processes(); !why.empty()) return complain(1, why);
        print_text(stdout, busy_processes());
        return std::fflush(stdout) == 0 ? 0 : complain(1, "standard output cannot be written");
    }
    const auto pid = process_id(argc - *first, argv + *first);
    if (!pid) return complain_of_usage("top", pid.error().message);
    const auto recorder = record_for_now(*pid);
    if (!recorder) return complain(1, recorder.error().message);
    const auto before_ns = *recorder ? std::optional(cpu_ns_of(*pid)) : std::nullopt;
    if (request.once) return print_once(*pid, *recorder, before_ns);
    if (!*recorder) {
        // Errors at the start are printed before the terminal is taken over.
        GrowingProfile begun(*pid);
        if (auto profile = begun.read(std::nullopt, false); !profile && !begun.found())
            return complain(1, profile.error().message);
    }
    end_on_interrupt();
    auto screen = Screen::open();
    if (!screen) return complain(2, screen.error().message);
    Top(*pid, std::move(*screen), before_ns).run();
    return 0;
}

}  // namespace flameprobe

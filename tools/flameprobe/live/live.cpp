#include "live.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "../attach/short_recording.hpp"
#include "../commands.hpp"
#include "base/number.hpp"
#include "command_line.hpp"
#include "growing_profile.hpp"
#include "page_server.hpp"
#include "process_list.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

namespace {

constexpr const char* live_usage =
    "Usage: flameprobe live [--port N] PID\n"
    "Serves the page of a program while it runs, and refreshes it, until Ctrl-C. Only this machine can reach it, and\n"
    "only with the address that is printed, which holds a secret. Of a program that is being profiled the growing\n"
    ".fprobe is read, which costs it nothing. Another one is sampled meanwhile, as by attach.\n"
    "\n"
    "  flameprobe live PID                     prints the address\n"
    "  flameprobe live --port 8000 PID         the same on this port\n"
    "  flameprobe top PID                      the same in the terminal\n"
    "\n"
    "      --port N          on this port of 127.0.0.1 rather than on a free one\n";

PageAnswer plain(unsigned status, const std::string& text) {
    return {status, "text/plain; charset=utf-8", text + "\n"};
}

}  // namespace

struct LivePage::State {
    explicit State(pid_t pid) : growing(pid) {}

    /// All requests get the last data until the file has grown, and reading an event takes a tenth of one CPU. Before
    /// there is any they get the reason: that is no failure, and browsers count what a page could not load among its
    /// errors.
    struct Shown {
        std::string data, problem;
        std::uint64_t size = 0;  // of the file
        std::chrono::steady_clock::time_point next{};
    };

    GrowingProfile growing;
    std::map<std::string, Shown> by_event;  // that a page has chosen; empty: the first one that has samples
    std::string page = live_page(nullptr, "Looking for samples of process " + std::to_string(growing.pid()));
    std::optional<PageServer> server;  // last member: its thread uses the others

    PageAnswer answer(const std::string& path);
    const Shown& read(const std::string& event);
};

const LivePage::State::Shown& LivePage::State::read(const std::string& event) {
    Shown& shown = by_event[event];
    const auto now = std::chrono::steady_clock::now();
    if (now < shown.next) return shown;
    const bool changed = growing.has_grown(shown.size) || growing.running() != shown.problem.empty();
    if (!shown.data.empty() && !changed) {
        shown.next = now + growing.pause();
        return shown;
    }
    auto profile = growing.read(std::nullopt, true, event);
    const bool running = growing.running();
    if (profile) {
        const auto made = live_page_data(*profile, {}, running);
        if (made) {
            shown.data = *made;
            if (event.empty()) page = live_page(&*profile, "");
        }
        shown.problem = made ? "" : made.error().message;
    } else {
        shown.problem = growing.found() ? profile.error().message : "no samples yet";
    }
    shown.size = growing.size();
    shown.next = std::chrono::steady_clock::now() + growing.pause();
    return shown;
}

PageAnswer LivePage::State::answer(const std::string& path) {
    constexpr std::string_view of_first = "data", of_event = "data-";
    if (path.empty()) return {200, "text/html; charset=utf-8", page};
    if (path != of_first && !path.starts_with(of_event)) return plain(404, "Not found.");
    const Shown& shown = read(path == of_first ? "" : path.substr(of_event.size()));
    return {200, "application/json",
            shown.data.empty() ? nlohmann::json({{"waiting", shown.problem}}).dump() : shown.data};
}

LivePage::LivePage(std::unique_ptr<State> state) : state_(std::move(state)) {}
LivePage::LivePage(LivePage&&) noexcept = default;
LivePage::~LivePage() = default;
const std::string& LivePage::url() const { return state_->server->url(); }

Result<LivePage> LivePage::start(pid_t pid, std::uint16_t port) {
    auto state = std::make_unique<State>(pid);
    auto server = PageServer::start(port, [at = state.get()](const std::string& path) { return at->answer(path); });
    if (!server) return server.error();
    state->server.emplace(std::move(*server));
    return LivePage(std::move(state));
}

int live_command(int argc, char* argv[]) {
    struct Request {
        std::uint16_t port = 0;
        bool help = false;
    } request;
    const std::vector<CommandOption<Request>> options = {
        {"port", required_argument,
         [](Request& r, const std::string& v) { return put_number<std::uint16_t>(v, r.port); }},
        {"help", no_argument, always([](Request& r, const std::string&) { r.help = true; }), 'h'},
    };
    const auto first = take_options<Request>(argc, argv, options, request);
    if (!first) return complain_of_usage("live", first.error().message);
    if (request.help) return std::fputs(live_usage, stdout) < 0 ? 1 : 0;
    const auto pid = process_id(argc - *first, argv + *first);
    if (!pid) return complain_of_usage("live", pid.error().message);
    const auto recorder = record_for_now(*pid);
    if (!recorder) return complain(1, recorder.error().message);
    // Before the server's thread is made, so that it has them blocked too.
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    auto page = LivePage::start(*pid, request.port);
    if (!page) return complain(1, page.error().message);
    std::printf("%s\n", page->url().c_str());
    if (std::fflush(stdout) != 0) return complain(1, "standard output cannot be written");
    int signal = 0;
    sigwait(&ends, &signal);
    return 0;
}

}  // namespace flameprobe

#include "recorder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

#include "../close_from.hpp"
#include "../status_text.hpp"
#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "collect/profile_stacks.hpp"
#include "outside/compactor.hpp"
#include "outside/own_directory.hpp"
#include "profile/names.hpp"
#include "profile/task_event.hpp"
#include "profile_pictures.hpp"
#include "refusal.hpp"
#include "session/drawing_program.hpp"
#include "session/log.hpp"
#include "session/run_info.hpp"
#include "symbolize/symbolizer.hpp"
#include "tasks/task_looks.hpp"
#include "watch.hpp"

namespace flameprobe {

namespace {

/// Each thread of the target takes a descriptor.
void take_all_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Beside hundreds of threads that all want to run, each event would else be opened a turn of all of them after the
/// last one. Only root may.
void run_before_others() { ::setpriority(PRIO_PROCESS, 0, -20); }

// Ctrl-C is for the whole group: it is the parent that ends us, by closing its end of a pipe.
void leave_signals_to_parent() {
    sigset_t ours;
    sigemptyset(&ours);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ours, signal);
    ::sigprocmask(SIG_BLOCK, &ours, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

constexpr char begun_mark = '+';  // the first that the parent gets

void tell(const Descriptor& parent, const std::string& text) {
    [[maybe_unused]] const ssize_t written = ::write(parent.get(), text.data(), text.size());
}

/// Closes all others but the standard ones: the pipes of other recorders, which else would not learn of their end.
void keep_only(const Descriptor& end, const Descriptor& parent) {
    constexpr int first = 3;
    const int low = std::min(end.get(), parent.get()), high = std::max(end.get(), parent.get());
    close_between(first, low - 1);
    close_between(low + 1, high - 1);
    close_from(static_cast<unsigned>(high) + 1);
}

/// Reading memory or a file of the target may block for ever (userfaultfd, FUSE). The recorder then does not see that
/// the command that started it has ended, so it ends itself a minute after that.
void end_some_time_after_parent() {
    constexpr unsigned seconds = 60;
    struct sigaction limit {};
    limit.sa_handler = [](int) { ::alarm(seconds); };
    limit.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR2, &limit, nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGUSR2);
}

constexpr std::size_t most_file_bytes = std::size_t{256} << 20;
// How long the names in one file may take at the end.
constexpr std::chrono::seconds time_for_names{10};

/// As NameCode: with lines and inlined functions, as the files may be in a container.
std::vector<std::vector<CodeName>> name_by_debug_info(const Mapping& mapping,
                                                      const std::vector<std::uint64_t>& addresses,
                                                      const ReadFile& file) {
    SymbolizeOptions options;
    options.workers = 1;
    options.same_boot = true;
    options.pid = static_cast<std::uint32_t>(host_process());
    options.deadline = std::chrono::steady_clock::now() + time_for_names;
    options.read_image = [&file](const Mapping&) -> std::optional<std::string> {
        constexpr std::size_t piece = 1 << 20;
        std::string bytes;
        for (std::size_t got = piece; file && got == piece && bytes.size() < most_file_bytes;) {
            const std::size_t at = bytes.size();
            bytes.resize(at + piece);
            got = file(at, std::as_writable_bytes(std::span(bytes)).subspan(at));
            bytes.resize(at + got);
        }
        return bytes;
    };
    std::vector<Location> locations;
    for (const std::uint64_t address : addresses) locations.push_back({0, address});
    std::vector<std::string> warnings;
    std::vector<std::vector<CodeName>> names;
    for (const auto& chain : symbolize({mapping}, locations, {}, options, warnings)) {
        auto& known = names.emplace_back();
        if (is_nameless(chain.back().name)) continue;
        for (const Symbol& symbol : chain)
            known.push_back({symbol.name, symbol.file, symbol.line, symbol.decl_line, symbol.inlined});
    }
    return names;
}

/// A process that is ending has no events any more, some time before it has ended.
bool ends_within(const Descriptor& life, int ms) {
    pollfd watched{life.get(), POLLIN, 0};
    return ::poll(&watched, 1, ms) == 1;
}

std::string why_not_begun(pid_t target, const Descriptor& life, const Error& error) {
    constexpr int patience_ms = 200;
    return ends_within(life, patience_ms) ? "process " + std::to_string(target) + " has ended" : error.message;
}

/// After another program was executed.
std::string why_no_more(pid_t target, const Error& error) {
    const std::string why = why_not_attached(target, false);
    return "it executed another program. " + (why.empty() ? error.message : why);
}

/// What is missing of the event `tasks`: one sentence.
std::string why_no_tasks(pid_t target, const async::TaskLooks& tasks, const Options& options) {
    constexpr std::uint64_t begins_ns =
        5 * ns_per_ms;  // of CPU time: it may become another program, or have some later
    const std::string process = "process " + std::to_string(target);
    if (!tasks.has_tasks() && host_cpu_ns() < begins_ns) return {};
    if (!tasks.has_tasks())
        return process +
               " has no async tasks of a kind that is known: its program has no task tables of tokio or smol" +
               (options.shown.size() == 1 ? "; -e offcpu shows where its threads wait" : "");
    if (!tasks.has_layouts())
        return "what the tasks of " + process +
               " await is not known, since the program has no layouts of futures: build it with debug = true";
    return {};
}

/// The recorder's whole life. `end` hangs up when it is to end. `parent` gets the mark that it has begun, and why it
/// has not, or did not go on.
void record(pid_t target, const AttachSettings& settings, const Descriptor& end, const Descriptor& parent) {
    leave_signals_to_parent();
    end_some_time_after_parent();
    run_before_others();
    ::prctl(PR_SET_NAME, "flameprobe");  // by this name profile_of_process() finds it
    ::prctl(PR_SET_TIMERSLACK, 1);
    const Descriptor life(static_cast<int>(::syscall(SYS_pidfd_open, target, 0)));
    if (!life) return tell(parent, "there is no process " + std::to_string(target));
    name_code = name_by_debug_info;
    write_smaller = [](const std::string& profile, const Descriptor& into, const WhileDrawing&) {
        return compact_profile(profile, Descriptor(::fcntl(into.get(), F_DUPFD_CLOEXEC, 3)));
    };
    draw_run = [](const DrawingOrder& order, const Options&, const WhileDrawing&) -> Result<Drawn> {
        ResultMessages told = write_run_result(order.input, {});
        return Drawn{std::move(told.wrote), std::move(told.problems)};
    };
    Log log(!settings.directory.empty() ? LogMode::quiet : LogMode::automatic, {});
    bool told = false;
    // exec(3) ends the events of the old program, and the next one gets a profile of its own.
    for (;;) {
        watch_process(target);
        outside_event = nullptr;
        std::unique_ptr<async::TaskLooks> tasks;
        if (std::ranges::find(settings.options.shown, event_name::tasks) != settings.options.shown.end()) {
            tasks = std::make_unique<async::TaskLooks>(settings.options.offcpu_frequency);
            outside_event = tasks.get();
            if (const std::string why = why_no_tasks(target, *tasks, settings.options); !why.empty()) {
                if (!tasks->has_tasks() && settings.options.shown.size() == 1 && !told) return tell(parent, why);
                log.warning(why);
            }
        }
        Watch watch(settings, log, executable_name());
        log.hold();
        const auto begun = watch.begin();
        log.hold(false);
        if (!begun && !told) return tell(parent, why_not_begun(target, life, begun.error()));
        if (!begun && !ends_within(life, 1000)) return tell(parent, why_no_more(target, begun.error()));
        if (!begun) return;
        log.release();
        if (!std::exchange(told, true)) tell(parent, std::string(1, begun_mark));
        const Watch::End why = watch.run(end, life);
        if (settings.directory.empty()) watch.finish();
        if (why == Watch::End::broken) tell(parent, "what it said above");
        if (why != Watch::End::other_program) return;
    }
}

void remove(const std::string& directory) {
    if (directory.empty()) return;
    if (const auto own = OwnDirectory::open(directory)) static_cast<void>(own->clear());
    ::rmdir(directory.c_str());
}

}  // namespace

Result<Recorder> Recorder::start(pid_t target, const AttachSettings& settings) {
    take_all_descriptors();
    int end[2], life[2];
    if (::pipe2(end, O_CLOEXEC) != 0) return Error{"no pipe: " + error_text(errno)};
    Descriptor end_seen(end[0]), ours(end[1]);
    if (::pipe2(life, O_CLOEXEC) != 0) return Error{"no pipe: " + error_text(errno)};
    Descriptor from(life[0]), to(life[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return Error{"no process: " + error_text(errno)};
    if (pid == 0) {
        keep_only(end_seen, to);
        try {
            record(target, settings, end_seen, to);
        } catch (const std::exception& exception) {
            tell(to, exception.what());
        }
        remove(settings.directory);
        ::_exit(0);
    }
    to.reset();
    Recorder recorder(target, pid, settings, std::move(ours), std::move(from));
    std::string told;
    bool lives = true;
    while (lives && !told.starts_with(begun_mark)) lives = recorder.read_more(told);
    if (recorder.interrupted_ != settings.interrupted) return Error{"interrupted before it was attached"};
    if (!lives) return Error{told.empty() ? "the recorder has ended" : told};
    return recorder;
}

/// Waits until the recorder writes or ends; false when it has ended. When `interrupted_` becomes readable, and the
/// recorder has not answered, it is killed, and its end is still waited for.
bool Recorder::read_more(std::string& told) {
    pollfd watched[] = {{life_.get(), POLLIN, 0}, {interrupted_, POLLIN, 0}};
    if (::poll(watched, std::size(watched), -1) < 0) return errno == EINTR;
    if (watched[0].revents == 0 && watched[1].revents != 0) {
        ::kill(pid_, SIGKILL);
        interrupted_ = -1;
        return true;
    }
    char buffer[512];
    const ssize_t got = ::read(life_.get(), buffer, sizeof buffer);
    if (got > 0) told.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
}

std::string Recorder::wait_for_end() {
    ask_to_end();
    if (!life_) return {};
    std::string told;
    while (read_more(told)) {
    }
    life_.reset();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    remove(directory_);  // what a killed one has left
    if (WIFSIGNALED(status)) told = "the recorder was " + status_text(status);
    return told.empty() ? told : "recording of process " + std::to_string(target_) + " ended early: " + told;
}

}  // namespace flameprobe

// The core's face to libflameprobe.so. Nothing may be thrown past these functions: their caller is C, in a host.
#include <errno.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "capture/handler/handler.hpp"
#include "capture/handler/hooks.hpp"
#include "collect/cpu_clocks.hpp"
#include "collect/unit_counts.hpp"
#include "sandbox/filtered.hpp"
#include "sandbox/thread_storage.hpp"
#include "session/core_api.h"
#include "session/family.hpp"
#include "session/session.hpp"
#include "session/settings.hpp"

namespace flameprobe {
namespace {

/// The one session. A forked child leaves its parent's where it lies, since its state may be anything.
constinit std::atomic<Session*> the_session{nullptr};

/// Held by a thread that starts sampling through the API, which may put another session in the place of this one.
constinit std::mutex starting;

Session* current() noexcept { return the_session.load(std::memory_order_acquire); }

void on_toggle_signal(int) {
    const int saved = errno;
    if (Session* session = current()) session->toggle();
    errno = saved;
}

void listen_for_toggle(int number) {
    struct sigaction action {};
    action.sa_handler = on_toggle_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
}

std::vector<std::string> copy(const char* const* settings, size_t count) {
    return settings == nullptr ? std::vector<std::string>{} : std::vector<std::string>(settings, settings + count);
}

/// Runs `action`, which gives an Outcome; whatever goes wrong becomes a code and a line.
template <class Action>
int guarded(char* message, size_t size, Action action) noexcept {
    const auto tell = [&](int code, const char* text) {
        if (message != nullptr && size != 0) std::snprintf(message, size, "%s", text);
        return code;
    };
    try {
        const Outcome outcome = action();
        return tell(outcome.code, outcome.message.c_str());
    } catch (const std::bad_alloc&) {
        return tell(FLAMEPROBE_NO_MEMORY, "there is no memory left");
    } catch (const std::exception& error) {
        return tell(FLAMEPROBE_REFUSED, error.what());
    }
}

void load(const char* const* settings, size_t count, int start_by_default) {
    guarded(nullptr, 0, [&]() -> Outcome {
        const bool descendant = family().descendant;
        if (current() != nullptr) return {};  // started by a constructor that ran before
        auto* session = new Session(copy(settings, count), descendant);
        the_session.store(session, std::memory_order_release);
        const Options& options = session->options();
        mark_descendants(options, !session->settings_problem().empty());
        if (descendant && !options.children) return {};
        if (options.toggle_signal != 0) {
            if (auto ready = session->stand_by(); !ready.ok()) return ready;
            listen_for_toggle(options.toggle_signal);
        }
        if (options.start.value_or(start_by_default != 0)) {
            const auto started = session->start();
            session->messages();
            return started;
        }
        return {};
    });
}

void after_fork() {
    Session* parent = current();
    if (host_is_filtered) return the_session.store(nullptr, std::memory_order_release);  // no thread can be made
    if (parent != nullptr && parent->of_this_process()) return;
    new (&starting) std::mutex;  // the thread that held it is not in this process
    if (parent == nullptr) return;
    guarded(nullptr, 0, [&]() -> Outcome {
        begin_unit_counts();
        const bool wanted = parent->children_wanted();
        auto* session = new Session(parent->settings(), true);
        the_session.store(session, std::memory_order_release);
        if (!session->options().children) return {};
        if (session->options().toggle_signal != 0) {
            if (auto ready = session->stand_by(); !ready.ok()) return ready;
        }
        return wanted ? session->start_soon() : Outcome{};
    });
}

/// Why the caller's own lines cannot be used; empty if they can.
std::string problem_with(const char* const* lines, size_t count) {
    std::vector<std::string> problems;
    read_options({lines, lines + count}, problems);
    if (problems.empty()) return {};
    constexpr std::string_view for_hosts = "; the default is used";
    std::string& problem = problems.front();
    if (problem.ends_with(for_hosts)) problem.resize(problem.size() - for_hosts.size());
    return problem;
}

/// The session for these settings, with the results of the one it follows written. A thread that is still in the old
/// one is told that it has ended.
Session* begin_session(std::vector<std::string> settings, Session* before) {
    auto* session = new Session(std::move(settings), before != nullptr);
    the_session.store(session, std::memory_order_release);
    if (before != nullptr && before->of_this_process()) {
        before->ask(request_retire);
        before->messages();
    }
    if (session->options().toggle_signal != 0) listen_for_toggle(session->options().toggle_signal);
    return session;
}

int start(const char* const* lines, size_t count, size_t given, char* message, size_t size) {
    return guarded(message, size, [&]() -> Outcome {
        const std::scoped_lock lock(starting);
        Session* session = current();
        auto settings = copy(lines, count);
        const bool other = session == nullptr || (given != 0 && settings != session->settings());
        if (session != nullptr && other && session->sampling())
            return {FLAMEPROBE_RUNNING, "sampling is on already, with other options: stop it before"};
        if (session != nullptr && session->finished())
            return {FLAMEPROBE_REFUSED, "the process is ending, and its results are written"};
        if (auto problem = problem_with(lines + (count - given), given); !problem.empty())
            return {FLAMEPROBE_BAD_OPTION, std::move(problem)};
        if (other) session = begin_session(std::move(settings), session);
        auto started = session->start();
        session->messages();
        return started;
    });
}

int stop(char* message, size_t size) {
    return guarded(message, size, []() -> Outcome {
        Session* session = current();
        if (session == nullptr) return {FLAMEPROBE_NOT_RUNNING, "nothing is being sampled"};
        return session->stop();
    });
}

int dump(const char* path, char* message, size_t size) {
    return guarded(message, size, [&]() -> Outcome {
        Session* session = current();
        if (session == nullptr) return {FLAMEPROBE_NOT_RUNNING, "nothing has been sampled"};
        return session->dump(path == nullptr ? "" : path);
    });
}

int is_running() {
    const Session* session = current();
    return session != nullptr && session->of_this_process() && session->sampling() ? 1 : 0;
}

void ask(flameprobe_request request) {
    if (Session* session = current()) session->ask(request);
}
void died(int signal, const void* info, const void* context) {
    Session* session = current();
    if (session == nullptr || !session->of_this_process()) return;
    session->ask(request_flush);  // before anything that a corrupt process might not survive
    session->crash_record().write(signal, *static_cast<const siginfo_t*>(info), context);
}
void leave_network() {
    if (Session* session = current()) session->leave_network();
}
void finish() {
    if (Session* session = current()) session->finish();
}
void messages() {
    if (host_is_filtered) return;
    guarded(nullptr, 0, []() -> Outcome {
        Session* session = current();
        if (session != nullptr && session->of_this_process()) session->messages();
        return {};
    });
}
int attaches_threads() {
    const Session* session = current();
    return session != nullptr && !host_is_filtered && session->attaches_threads() ? 1 : 0;
}
void attach_thread() {
    if (!host_is_filtered) handler::attach_this_thread();
}
void thread_ended(uintptr_t routine, uintptr_t caller) {
    Session* session = current();
    if (session != nullptr && !host_is_filtered) session->thread_ended(routine, caller);
}
int left_alone() {
    bool alone = false;
    guarded(nullptr, 0, [&]() -> Outcome {
        Session* session = current();
        alone = session != nullptr && session->left_alone();
        return {};
    });
    return alone ? 1 : 0;
}
int away(bool (Session::*step_aside)()) {
    bool gone = false;
    guarded(nullptr, 0, [&]() -> Outcome {
        Session* session = current();
        gone = session != nullptr && (session->*step_aside)();
        return {};
    });
    return gone ? 1 : 0;
}
int step_aside() { return away(&Session::step_aside); }
int step_aside_if_unequal() { return away(&Session::step_aside_if_unequal); }
void come_back() {
    guarded(nullptr, 0, []() -> Outcome {
        Session* session = current();
        return session == nullptr ? Outcome{} : session->come_back();
    });
}
void yield_signal(int signal) {
    Session* session = current();
    const bool stop = signal == 0 ? attaches_threads() != 0 : !handler::yield_signal(signal, !host_is_filtered);
    if (stop && session != nullptr) session->yield_signal();
}
int is_own_signal(const void* info) { return handler::has_sent(*static_cast<const siginfo_t*>(info)) ? 1 : 0; }
int signals_with(int number) { return !host_is_filtered && handler::is_ours(handler::installed(number)) ? 1 : 0; }
int is_own_handler(uintptr_t address) { return handler::is_ours(address) ? 1 : 0; }
int scopes_in_use() { return Pipeline::scopes_seen() && !host_is_filtered ? 1 : 0; }
void expect_seccomp() {
    if (host_is_filtered) return;
    Session* session = current();
    if (session != nullptr) session->ask(request_secure);  // a child's engine may only just be starting
    host_is_filtered = true;
    if (session != nullptr) session->wake_collector();
    handler::expect_seccomp();
}

void before_filter(const void* program, unsigned long flags, int may_write) {
    guarded(nullptr, 0, [&]() -> Outcome {
        Session* session = current();
        if (session != nullptr) session->before_filter(program, flags);
        if (session != nullptr && may_write != 0) session->messages();
        return {};
    });
}
using ReadHostCounts = size_t (*)(flameprobe_unit_count*, size_t);
constinit ReadHostCounts read_host_counts = nullptr;

void count_units_by(ReadHostCounts read) {
    read_host_counts = read;
    read_unit_counts_by([] {
        std::array<flameprobe_unit_count, 256> found;
        UnitCounts counts;
        const size_t number = read_host_counts(found.data(), found.size());
        for (size_t i = 0; i < number; ++i) counts[found[i].name] += found[i].amount;  // equal texts are one
        return counts;
    });
}
int is_this_process() {
    const Session* session = current();
    return session != nullptr && session->is_really_of_this_process() ? 1 : 0;
}

/// What functions keep as statics is made while the core is loaded, when no thread forks (preload/core.cpp). Else a
/// child could inherit one that another thread of its parent is making, and wait for ever for that to end.
bool make_statics() noexcept {
    try {
        family();
        settings();
        kernel_clocks();
    } catch (const std::exception&) {
        return false;  // no memory: at the first use again
    }
    return true;
}
[[maybe_unused]] const bool statics_are_made = make_statics();

constexpr flameprobe_core table = {
    .version = FLAMEPROBE_CORE_VERSION,
    .load = load,
    .after_fork = after_fork,
    .start = start,
    .stop = stop,
    .dump = dump,
    .is_running = is_running,
    .ask = ask,
    .died = died,
    .leave_network = leave_network,
    .finish = finish,
    .messages = messages,
    .attaches_threads = attaches_threads,
    .attach_thread = attach_thread,
    .thread_ended = thread_ended,
    .yield_signal = yield_signal,
    .is_own_handler = is_own_handler,
    .is_own_signal = is_own_signal,
    .signals_with = signals_with,
    .expect_seccomp = expect_seccomp,
    .before_filter = before_filter,
    .is_this_process = is_this_process,
    .is_own_thread = [](void* (*routine)(void*)) { return Collector::begins_with(routine) ? 1 : 0; },
    .left_alone = left_alone,
    .step_aside = step_aside,
    .come_back = come_back,
    .step_aside_if_unequal = step_aside_if_unequal,
    .count_units_by = count_units_by,
    .scopes_in_use = scopes_in_use,
};

}  // namespace
}  // namespace flameprobe

extern "C" __attribute__((visibility("default"))) const flameprobe_core* flameprobe_core_table() {
    flameprobe::note_thread_storage(&flameprobe::table);
    return &flameprobe::table;
}

#include <errno.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <new>

#include "base/proc.hpp"
#include "base/signals.hpp"
#include "collect/usage.hpp"
#include "sandbox/host_restrictions.hpp"
#include "session/family.hpp"
#include "session/session.hpp"

namespace flameprobe {
namespace {

/// The one session. A forked child neither uses nor frees its parent's, whose state may be anything.
constinit std::atomic<Session*> the_session{nullptr};

/// Held by a thread that starts sampling through the API, which may put another session in the place of this one.
constinit std::mutex starting;

void on_toggle_signal(int) {
    const int saved = errno;
    if (Session* session = current_session()) session->toggle();
    errno = saved;
}

void listen_for_toggle(int number) {
    struct sigaction action {};
    action.sa_handler = on_toggle_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    host_sigaction(number, &action, nullptr);
}

/// A process of Chromium that forks others, and has to have one thread: it aborts if it has two.
bool is_zygote() {
    const auto command = read_small_file("/proc/self/cmdline");
    return command && command->find(std::string_view("\0--type=zygote", 14)) != std::string::npos;
}

/// Why the caller's own lines cannot be used; empty if they can.
std::string problem_with(const std::vector<std::string>& settings, std::size_t given) {
    std::vector<std::string> problems;
    read_options({settings.end() - static_cast<std::ptrdiff_t>(given), settings.end()}, problems);
    if (problems.empty()) return {};
    constexpr std::string_view for_hosts = "; the default is used";
    std::string& problem = problems.front();
    if (problem.ends_with(for_hosts)) problem.resize(problem.size() - for_hosts.size());
    return problem;
}

/// Makes the session for these settings, and writes the results of the one before. A thread that is still in the old
/// one is answered that it has ended.
Session* begin_session(std::vector<std::string> settings, Session* before) {
    auto* session =
        new Session(*new Given(std::move(settings)), before != nullptr ? Session::Kind::another : Session::Kind::first);
    the_session.store(session, std::memory_order_release);
    if (before != nullptr && before->of_this_process()) {
        before->ask(request_retire);
        before->messages();
    }
    if (session->options().toggle_signal != 0) listen_for_toggle(session->options().toggle_signal);
    return session;
}

}  // namespace

Session* current_session() noexcept { return the_session.load(std::memory_order_acquire); }

Outcome load_session(std::vector<std::string> settings, bool start_by_default) {
    const bool descendant = family().descendant;
    if (current_session() != nullptr) return {};  // started by a constructor that ran before
    auto* session =
        new Session(*new Given(std::move(settings)), descendant ? Session::Kind::child : Session::Kind::first);
    the_session.store(session, std::memory_order_release);
    const Options& options = session->options();
    mark_descendants(options, !session->given().problems.empty());
    if (descendant && !options.children) return {};
    if (options.toggle_signal != 0) {
        if (auto ready = session->launch(); !ready.ok()) return ready;
        listen_for_toggle(options.toggle_signal);
    }
    if (!options.start.value_or(start_by_default)) return {};
    auto started = session->start();
    if (descendant && is_zygote()) session->leave_if_thread();
    session->messages();
    return started;
}

Outcome follow_fork() {
    Session* const parent = current_session();
    if (host_is_filtered) {  // no thread can be made
        the_session.store(nullptr, std::memory_order_release);
        return {};
    }
    if (parent != nullptr && parent->of_this_process()) return {};
    new (&starting) std::mutex;  // the thread that held it is not in this process
    if (parent == nullptr) return {};
    leave_first_process();
    begin_unit_counts();
    const bool wanted = parent->children_wanted();
    auto* session = new Session(*parent);
    the_session.store(session, std::memory_order_release);
    if (!session->options().children) return {};
    if (session->options().toggle_signal != 0) {
        if (auto ready = session->launch(); !ready.ok()) return ready;
    }
    return wanted ? session->start_soon() : Outcome{};
}

Outcome start_session(std::vector<std::string> settings, std::size_t given) {
    const std::scoped_lock lock(starting);
    Session* session = current_session();
    const bool other = session == nullptr || (given != 0 && settings != session->given().settings);
    if (session != nullptr && other && session->sampling())
        return {FLAMEPROBE_RUNNING, "sampling is on already, with other options: stop it before"};
    if (session != nullptr && session->finished())
        return {FLAMEPROBE_REFUSED, "the process is ending, and its results are written"};
    if (auto problem = problem_with(settings, given); !problem.empty())
        return {FLAMEPROBE_BAD_OPTION, std::move(problem)};
    if (other) session = begin_session(std::move(settings), session);
    auto started = session->start();
    session->messages();
    return started;
}

}  // namespace flameprobe

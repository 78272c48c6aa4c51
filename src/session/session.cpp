#include "session/session.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/proc.hpp"
#include "session/family.hpp"
#include "session/host_resources.hpp"
#include "session/run_info.hpp"

namespace flameprobe {

using State = Life::State;

namespace {

// The longest that a host thread waits on a collector that makes no progress at all.
constexpr std::uint64_t patience_ns = 5 * ns_per_second;
constexpr const char* no_memory = "there is no memory for the collector's thread, so nothing is sampled";
constexpr const char* no_thread =
    "nothing is sampled: no thread can be created for the collector: raise the limit of processes (ulimit -u, a "
    "cgroup's pids.max) or of memory (ulimit -v); under SCHED_DEADLINE the kernel permits none";
// clone(2): EINVAL for a thread of a process whose children are to be in another pid namespace.
constexpr const char* no_thread_but_of_children =
    "nothing is sampled: after unshare -p a process may have no new thread, only its children may (unshare -f)";
constexpr const char* collector_killed = "the collector was killed, so nothing was sampled from then on";
constexpr const char* no_answer =
    "the collector has made no progress for 5 s: it may wait for a lock that this thread holds, such as malloc's";

Options parse(const std::vector<std::string>& settings, std::vector<std::string>& problems) {
    const std::vector<std::string_view> lines(settings.begin(), settings.end());
    return read_options(lines, problems);
}

/// Of this process, now.
PathFacts path_facts(std::string executable, std::string directory, const Options& options) {
    return {.executable = std::move(executable),
            .pid = static_cast<std::uint32_t>(host_process()),
            .start_unix = static_cast<std::uint64_t>(::time(nullptr)),
            .dump = options.dump_every_ns != 0 ? 1u : 0u,
            .directory = std::move(directory)};
}

// A result may be replaced by a later run's, but never by another process of the same run.
OlderResults older_results(const Options& options, Session::Kind kind) {
    return {options.out.find("%p") != std::string::npos, family().start, kind != Session::Kind::another};
}

}  // namespace

Given::Given(std::vector<std::string> lines) : settings(std::move(lines)), options(parse(settings, problems)) {}

Session::Session(const Given& given, Kind kind)
    : given_(given),
      facts_(path_facts(executable_name(), family().directory, options())),
      log_(options().log,
           options().log_path.starts_with('/') ? options().log_path : family().directory + "/" + options().log_path),
      collector_(options(), facts_, older_results(options(), kind), log_) {
    if (kind != Kind::first) return;
    for (const auto& problem : given.problems) log_.warning(problem);
}

// What the parent has found out is not read again: many a forked child lives for less than a millisecond.
Session::Session(const Session& parent)
    : given_(parent.given_),
      process_(parent.process_),
      facts_(path_facts(parent.facts_.executable, parent.facts_.directory, options())),
      log_(parent.log_),
      collector_(options(), facts_, older_results(options(), Kind::child), log_) {}

Outcome Session::launch() {
    const std::scoped_lock lock(mutex_);
    return collector_.life().step<State::none, State::begun>() ? create_collector() : Outcome{};
}

Outcome Session::create_collector() {
    collector_.commands().set_tid(0);  // the old thread's, if it was sent away
    const int error = collector_.launch();
    if (error == 0) return {};
    const char* const why = error == EINVAL ? no_thread_but_of_children : no_thread;
    log_.warning(why);  // also where no caller gets the outcome: a preloaded library, a forked child
    return {FLAMEPROBE_NO_MEMORY, why};
}

bool Session::ask_and_wait(Request request) noexcept {
    CommandQueue& commands = collector_.commands();
    return commands.wait(commands.ask(request), patience_ns);
}

Outcome Session::unanswered(flameprobe_code code) const {
    if (collector_.without_memory()) return {FLAMEPROBE_NO_MEMORY, no_memory};
    if (collector_.life().ends()) return {code, "this profile has ended, and its results are written"};
    return {code, no_answer};
}

Outcome Session::start() {
    if (sampling()) return {FLAMEPROBE_RUNNING, "sampling is on already"};
    if (auto launched = launch(); !launched.ok()) return launched;
    wanted_ = true;
    if (!ask_and_wait(request_start)) return unanswered(FLAMEPROBE_REFUSED);
    if (collector_.sampling().broken()) return {FLAMEPROBE_REFUSED, collector_.sampling().why_not()};
    return {};
}

Outcome Session::start_soon() {
    const std::uint32_t ticket = collector_.commands().ask(request_start);
    const std::scoped_lock lock(mutex_);
    auto created = Outcome{};
    if (!launched()) {
        collector_.birth().begin(ticket);
        created = create_collector();
    }
    wanted_ = created.ok();
    return created;
}

Outcome Session::stop() {
    if (!sampling()) return {FLAMEPROBE_NOT_RUNNING, "nothing is being sampled"};
    wanted_ = false;
    if (!ask_and_wait(request_stop) && sampling()) return unanswered(FLAMEPROBE_REFUSED);
    return {};
}

Outcome Session::dump(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    if (!launched()) return {FLAMEPROBE_NOT_RUNNING, "nothing has been sampled"};
    CommandQueue& commands = collector_.commands();
    // The collector may be reading the last one's path.
    if (late_dump_ && !commands.wait(*late_dump_, patience_ns)) return unanswered(FLAMEPROBE_OUTPUT);
    auto facts = path_facts(facts_.executable, facts_.directory, options());
    facts.dump = ++dumps_;
    collector_.dump_stem = path.empty() ? expand_path(options().out, facts) : expand_path(path, facts, false);
    collector_.dump_problem.clear();
    late_dump_ = commands.ask(request_dump);
    if (!commands.wait(*late_dump_, patience_ns)) return unanswered(FLAMEPROBE_OUTPUT);
    late_dump_.reset();
    if (!collector_.dump_problem.empty()) return {FLAMEPROBE_OUTPUT, collector_.dump_problem};
    return {};
}

void Session::toggle() noexcept {
    if (launched()) collector_.commands().ask(request_toggle);
}
void Session::ask(Request request) noexcept {
    if (!launched() || collector_.life().ends() || !of_this_process()) return;
    // A child on its way to exec is not held up.
    if ((request == request_flush || request == request_replace) && !sampling()) return;
    ask_and_wait(request);
}
void Session::yield_signal() noexcept {
    if (!sampling() || !of_this_process()) return;
    wanted_ = false;
    ask_and_wait(request_yield);
}
void Session::release_host_resources() noexcept {
    if (!launched() || host_is_filtered || !is_surely_of_this_process() || collector_.birth().waits() ||
        collector_.life().ends())
        return;
    if (!killed_at_load({SYS_setitimer})) stop_interval_timers();
    collector_.host_ends();
    // What is no run's first process only writes its last block, and its end frees the ports.
    if (!is_first_process() && options().one_result() && !killed_at_load({SYS_kill}) && ::kill(family().pid, 0) == 0)
        return;
    // What follows is our work, not the host's. Where nothing was sampled nothing is written, and the end is not held
    // up.
    ask_and_wait(request_stop);
    if (collector_.sampling().has_recording() &&
        !killed_at_load({SYS_getsockopt, SYS_socket, SYS_socketpair, SYS_bind, SYS_listen, SYS_dup3}))
        close_connections(collector_.life().is(State::task) ? 0 : 1);
}
// A filtered host may be killed for a futex call, which it makes if the collector holds a lock of libc's, such as
// malloc's: so it goes on only when the collector's thread is gone.
void Session::finish() noexcept {
    release_host_resources();
    if (!launched() || !of_this_process() || collector_.birth().end()) return;
    if (!ask_and_wait(request_finish)) return;
    wait_until_gone(ns_per_second);
    if (!host_is_filtered) collector_.reap_task();
}
void Session::messages() {
    if (collector_.without_memory()) log_.warn_once(no_memory);
    if (collector_.was_killed()) log_.warn_once(std::string(collector_killed) + collector_.sampling().how_to_draw());
    log_.release();
}
void Session::wait_until_gone(std::uint64_t limit_ns) noexcept {
    for (const Deadline deadline(limit_ns); collector_.thread_lives_on() && !deadline.over();) {
    }
    collector_.life().step<State::finishing, State::gone>();
}
void Session::before_filter(const void* program, unsigned long flags) noexcept {
    if (!launched() || collector_.life().ends()) return;
    collector_.filter_program = program;
    collector_.filter_flags = flags;
    ask_and_wait(request_filter);
    wait_until_gone(patience_ns);
}
void Session::thread_begins() noexcept {
    NewThreads& threads = collector_.sampling().new_threads();
    if (threads.wanted() && of_this_process()) threads.announce(own_tid(), collector_.commands());
}
void Session::thread_ended(std::uint64_t routine, std::uint64_t caller) noexcept {
    if (!sampling()) return;
    EndedThread thread{
        .tid = own_tid(), .cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID), .routine = routine, .caller = caller};
    ::prctl(PR_GET_NAME, thread.name);
    collector_.sampling().new_threads().lived(thread.cpu_ns);
    collector_.sampling().ended_threads().report(thread);
}

}  // namespace flameprobe

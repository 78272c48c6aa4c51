#include "session/collector.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "base/own_threads.hpp"
#include "base/proc.hpp"
#include "base/self_memory.hpp"
#include "cpu/instructions.hpp"
#include "sandbox/host_restrictions.hpp"
#include "session/run_info.hpp"

namespace flameprobe {
namespace {

using State = Life::State;

// A host's real-time priority is for its own work: the collector would hold up what has the same, and would itself wait
// for ever behind a thread that never leaves their only CPU, of which the kernel keeps a part for others (sched(7)).
void leave_real_time() {
    if (filter_kills_for({SYS_sched_getscheduler, SYS_sched_setscheduler})) return;
    const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    const sched_param usual{};
    if (policy == SCHED_FIFO || policy == SCHED_RR) ::sched_setscheduler(0, SCHED_OTHER, &usual);
}

}  // namespace

Collector::Collector(const Options& options, PathFacts paths, OlderResults older, Log& log)
    : options_(options), log_(log), birth_(options_, life_), sampling_(options_, std::move(paths), older, log, [this] {
          commands_.alive();
          task_.progress();
      }) {}

int Collector::launch() {
    made_by_main_ = own_tid() == static_cast<std::uint32_t>(host_process());
    const AllSignalsBlocked blocked;
    const OwnThreadAttributes attributes(create_thread != ::pthread_create);
    pthread_t thread;
    const int error = create_thread(&thread, attributes.get(), &Collector::thread_main, this);
    if (error != 0 && !life_.step<State::newborn, State::none>()) life_.step<State::begun, State::none>();
    return error;
}

// Created joinable, so that libc keeps the thread's storage, which a task may take over.
void* Collector::thread_main(void* self) {
    if (alloc::table() != nullptr) alloc::table()->exempt(1);  // for good
    cpu::use_plain_floats();
    auto* const collector = static_cast<Collector*>(self);
    const bool outlives = collector->birth_.outlived(collector->commands_);
    if (!collector->life_.ends() && !allocate_thread_storage()) {
        collector->without_memory_ = true;
        collector->life_.step<State::begun, State::gone>();
        collector->commands_.set_tid(own_tid());
    }
    const bool ends = collector->life_.ends();
    if (outlives && !ends) collector->prepare();
    if (ends || collector->serve()) ::pthread_detach(::pthread_self());
    return nullptr;
}

// Before it has a descriptor table of its own, each descriptor is one of the host's, whose next open() might get
// another number for it. Filters are looked up in /proc; a forked child, which does not wait meanwhile, has its
// parent's, for which that need not be done again.
void Collector::prepare() {
    static constinit std::atomic<bool> isolated_before{false};
    if (made_by_main_) has_filters_of_main_thread();
    commands_.set_tid(own_tid());
    ::prctl(PR_SET_NAME, "flameprobe");
    // Without this its pauses would end together with the program's own timers, and looks come just after waits.
    ::prctl(PR_SET_TIMERSLACK, 1);
    log_.hold();
    if (!isolated_before && filter_kills_for_ours()) {
        sampling_.give_up("nothing is sampled: " + filter_text::would_kill_for("system calls of the collector"));
    } else {
        note_working_directory();
        isolated_before = isolate_this_thread();
        collector_is_thread = isolated_before.load();
        if (!isolated_before) {
            sampling_.give_up(
                "nothing is sampled: neither close_range nor unshare is permitted, without which the collector's "
                "files would lie among the program's");
        }
        prepare_read_self();
    }
    leave_real_time();
    if (!Task::possible() || filter_kills_for({SYS_pidfd_open, SYS_setpgid, SYS_rseq, SYS_setitimer}))
        life_.step<State::begun, State::thread>();
}

bool Collector::serve() {
    for (bool going_on = true; going_on;) {
        const std::uint32_t requests = carried_ != 0 ? std::exchange(carried_, 0) : commands_.take(pause_ns());
        commands_.alive();
        task_.progress();
        try {
            sampling_.meet_threads();
            if (requests == 0 && monotonic_ns() < due_ns_) continue;
            if (becomes_task(requests)) {
                carried_ = requests;
                thread_used_ns_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
                commands_.set_tid(0);  // the end of this thread is not the end of the collector
                if (task_.take_over([this] { continue_as_task(); })) {
                    commands_.set_task(&task_);  // it may be killed before its first step
                    return false;
                }
                commands_.set_tid(own_tid());
                life_.step<State::begun, State::thread>();
                continue;
            }
            // The task survives what kills the host or replaces its image, and still has the memory.
            const bool replaced = is_task() && sampling_.may_be_replaced() && host_has_other_image();
            if (replaced) sampling_.image_is_gone();
            if (replaced || (is_task() && task_.host_ended())) {
                finish();
                return true;
            }
            if (sampling_.on()) {
                poll();
            } else if (requests == 0) {  // else a thread of the host waits
                end_with_last_thread();
            }
            going_on = handle(requests);
            if (sampling_.on() || sampling_.broken()) life_.step<State::begun, State::thread>();
        } catch (const std::exception& error) {
            const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
            sampling_.give_up(
                no_memory ? "sampling ends: there is no memory left for it: raise the limit (ulimit -v) or lower "
                            "FLAMEPROBE_STACK"
                          : std::string("sampling ends: ") + error.what());
            going_on = (requests & last_requests) == 0 && !life_.ends();
        }
        commands_.answer();
        due_ns_ = monotonic_ns() + (host_ends_.load(std::memory_order_relaxed) ? ns_per_ms : sampling_.pause_ns());
    }
    return true;
}

bool Collector::becomes_task(std::uint32_t requests) {
    const bool starts = (requests & (request_start | request_toggle)) != 0 && (requests & last_requests) == 0;
    return life_.is(State::begun) && starts && !sampling_.broken() && sampling_.open() && sampling_.works_outside();
}

void Collector::continue_as_task() {
    collector_is_thread = false;
    life_.step<State::begun, State::task>();
    commands_.set_tid(own_tid());
    serve();
}

bool Collector::handle(std::uint32_t requests) {
    if ((requests & last_requests) != 0 && !birth_.leaves_something()) requests &= ~std::uint32_t{request_start};
    if ((requests & request_toggle) != 0) requests |= sampling_.on() ? request_stop : request_start;
    if ((requests & request_start) != 0) start((requests & (last_requests | request_stop)) != 0);
    if ((requests & request_yield) != 0 && sampling_.on()) {
        sampling_.give_up_signal();
        show_urgent_lines();
    }
    if ((requests & request_stop) != 0) sampling_.stop(host_ends_.load(std::memory_order_relaxed));
    if ((requests & request_flush) != 0) sampling_.keep();
    if ((requests & request_replace) != 0) sampling_.complete();
    if ((requests & request_secure) != 0) sampling_.secure(next_user.exchange(no_user, std::memory_order_relaxed));
    if ((requests & request_credentials) != 0 && is_task()) task_.follow_credentials();
    if ((requests & request_dump) != 0) dump_problem = sampling_.dump(dump_stem);
    if ((requests & request_finish) != 0 && host_is_filtered && !is_task()) watch_thread_end();
    if ((requests & request_room) != 0)
        sampling_.say(
            "sampling ends: the program may have no more processes and threads than it needs itself (ulimit "
            "-u, a cgroup's pids.max, ulimit -v), so the collector leaves it its own");
    if ((requests & (request_finish | request_retire | request_room)) != 0) finish();
    if ((requests & request_retire) != 0) sampling_.retire();
    if ((requests & request_leave) != 0) sampling_.leave();
    if ((requests & request_filter) != 0) before_filter();
    return (requests & last_requests) == 0 && !life_.ends();
}

std::uint64_t Collector::pause_ns() const {
    constexpr std::uint64_t unwoken_ns = 4 * ns_per_ms;  // no thread can wake it: see host_is_filtered
    const std::uint64_t now = monotonic_ns(), left = due_ns_ - std::min(due_ns_, now);
    return host_is_filtered ? std::min(left, unwoken_ns) : left;
}

void Collector::start(bool ends) {
    if (sampling_.on() || sampling_.broken() || !sampling_.open()) return;
    sampling_.start(birth_.counted_to(ends, is_task() ? std::optional(thread_used_ns_) : std::nullopt));
    last_look_ns_ = monotonic_ns();
}

void Collector::poll() {
    const std::uint64_t now = monotonic_ns();
    if (now - last_look_ns_ >= ns_per_second) {
        sampling_.report_engine_note();
        end_with_last_thread();
        if (is_task()) task_.follow_credentials();
        last_look_ns_ = now;
    }
    sampling_.poll(host_ends_.load(std::memory_order_relaxed));
    show_urgent_lines();
}

void Collector::finish() {
    if (!life_.step<State::task, State::finishing>() && !life_.step<State::thread, State::finishing>())
        life_.step<State::begun, State::finishing>();
    sampling_.finish();
    if (thread_alive_ == never_told) life_.step<State::finishing, State::gone>();
}

// Written by the collector, since no thread of the host may come to it: threads that wait for each other call nothing,
// and a runtime that takes every signal for itself (Go's) also ends the process by a bare system call.
void Collector::show_urgent_lines() {
    if (!sampling_.takes_urgent()) return;
    if (host_is_filtered || filter_kills_for({SYS_pidfd_open, SYS_pidfd_getfd})) return;
    const Descriptor host(static_cast<int>(::syscall(SYS_pidfd_open, host_process(), 0)));
    if (host) log_.release_to(Descriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, host.get(), STDERR_FILENO, 0))));
}

// For threads that end by the system call rather than through libc: when only the collector is left, the kernel would
// have ended the process without it, with the status that the main thread left behind.
void Collector::end_with_last_thread() {
    if (is_task()) return;
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    if (!has_ended(main_thread) || list_threads().size() != 2) return;
    const int status = exit_status_of(main_thread);
    finish();
    ::syscall(SYS_exit, status);  // since Linux 5.17 the last thread's is the process's
}

void Collector::before_filter() {
    if (is_task()) return;  // a filter is for threads of the host's thread group only
    if (filter_for_all_would_kill(filter_program, filter_flags)) {
        // It will hold for this thread too, and the next system call may be the process's end.
        watch_thread_end();
        sampling_.say(filter_text::ended);
        return finish();
    }
    if (!sampling_.attaches_threads() || sampling_.broken() || lets_handlers_return(filter_program, filter_flags))
        return;
    if (!sampling_.go_on_without_signals("in the program's filter no handler can return"))
        sampling_.end(filter_text::no_return);
}

// The kernel clears `thread_alive_` when the thread has ended (set_tid_address(2)), so that the host can wait without a
// system call. libc, whose word was registered before, does not learn of the end and never frees the thread's stack, a
// mebibyte.
void Collector::watch_thread_end() {
    thread_alive_.store(1, std::memory_order_release);
    ::syscall(SYS_set_tid_address, &thread_alive_);
}

}  // namespace flameprobe

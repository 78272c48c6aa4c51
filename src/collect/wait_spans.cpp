// The time in which threads waited, as spans with a stack.
#include <algorithm>

#include "collect/wait_registry.hpp"

namespace flameprobe {
namespace {

// A window is settled when it has `enough_reads`, or is `oldest_window_ns` old: the scaling to the exact time needs a
// few reads, and a killed host loses no more than this.
constexpr std::size_t enough_reads = 32;
constexpr std::uint64_t oldest_window_ns = 250'000'000;
// A wait that has lasted this many pauses is all but certainly read, so it weighs what it lasts: it is counted while it
// goes on.
constexpr double certain_pauses = 20;

}  // namespace

// Looks find a thread only while it is blocked, so they stand for that part of its waits: the time from waking to
// getting a CPU is moved from the waits to preemption. It is known for many waits together, so it is spread over
// several windows; where short waits are hidden it stays, since how much of it is theirs is not known.
void WaitRegistry::take_off_late(Thread& thread, bool all) {
    const std::uint64_t most = all ? thread.blocked_ns : thread.blocked_ns / 16 * 15;
    const std::uint64_t late = std::min(thread.account.late_ns(), most);
    if (late == 0 || least_ns_ != 0) return;
    thread.account.took_off_late(late);
    thread.blocked_ns -= late;
    totals_.blocked_ns -= late;
    totals_.preempted_ns += late;
    if (thread.preempted_ns == 0) {
        thread.preempted_since_ns = thread.window_begin_ns;
        thread.preempted_on = thread.last_cpu_stack;
    }
    thread.preempted_ns += late;
}

void WaitRegistry::end_wait(Thread& thread, std::uint64_t lasted) {
    if (lasted < least_ns_) {
        ++totals_.waits_hidden;
        totals_.hidden_ns += lasted;
        return;
    }
    const std::uint64_t left = lasted - std::min(lasted, thread.counted_ns);
    totals_.blocked_ns += left;
    thread.blocked_ns += left;
    if (lasted == 0 || thread.hopeless) return;
    const double probability = looks_.probability_of_meeting(lasted, thread.has_stack);
    if (!thread.has_stack) return;
    const double weight = static_cast<double>(lasted) / probability - static_cast<double>(thread.counted_ns);
    add_estimate(thread, std::max(weight, 1.0), 1 / probability, lasted);
}

void WaitRegistry::add_estimate(Thread& thread, double ns, double waits, std::uint64_t lasted_ns) {
    const bool first = thread.counted_ns == 0;
    thread.read.add(
        {thread.since_ns + thread.counted_ns, ns, thread.what, first ? 1u : 0u, first ? waits : 0, lasted_ns});
}

// Counts a long wait while it goes on. Not if the thread has never woken: such a wait is emitted at the end, as idle,
// unless it is known that it will never end.
void WaitRegistry::count_wait_in_progress(Thread& thread, std::uint64_t now_ns) {
    const bool idle = thread.wakes == 0 && !(thread.has_stack && thread.what.never_ends());
    if (thread.state != State::waiting || thread.assumed || idle) return;
    const std::uint64_t lasted = since(now_ns, thread.since_ns);
    const std::uint64_t more = lasted - std::min(lasted, thread.counted_ns);
    if (more < oldest_window_ns || lasted < least_ns_ ||
        static_cast<double>(lasted) < certain_pauses * looks_.mean_pause_ns())
        return;
    if (!thread.has_stack && !thread.hopeless) return;
    if (thread.has_stack && now_ns < thread.read_until_ns) return;
    if (thread.has_stack) add_estimate(thread, static_cast<double>(more), 1, lasted);
    thread.blocked_ns += more;
    totals_.blocked_ns += more;
    thread.counted_ns += more;
}

void WaitRegistry::settle_waits(std::uint32_t tid, Thread& thread, bool all) {
    take_off_late(thread, all);
    if (thread.read.stand_for_time()) {
        thread.read.share(thread.blocked_ns, [&](const ReadWaits::Estimate& estimate, std::uint64_t ns) {
            emit_({Kind::waited, tid, estimate.begin_ns, ns, estimate.place.stack, estimate.hits, estimate.place.reason,
                   estimate.waits, estimate.place.held, estimate.lasted_ns});
        });
    } else if (!all) {
        return;  // until a wait was read whose stack it can be put on
    } else if (thread.blocked_ns != 0) {
        emit_({.kind = Kind::unsampled, .tid = tid, .begin_ns = thread.window_begin_ns, .ns = thread.blocked_ns});
    }
    thread.read.clear();
    thread.blocked_ns = 0;
}

void WaitRegistry::settle_preempted(std::uint32_t tid, Thread& thread) {
    if (thread.preempted_ns == 0) return;
    emit_({.kind = Kind::preempted,
           .tid = tid,
           .begin_ns = thread.preempted_since_ns,
           .ns = thread.preempted_ns,
           .stack = thread.preempted_on});
    thread.preempted_ns = 0;
}

void WaitRegistry::settle(std::uint64_t now_ns) {
    for (auto at = threads_.begin(); at != threads_.end();) {
        auto& [tid, thread] = *at;
        if (thread.state == State::ended && since(now_ns, thread.since_ns) > oldest_window_ns) {
            at = threads_.erase(at);
            continue;
        }
        count_wait_in_progress(thread, now_ns);
        const bool old = since(now_ns, thread.window_begin_ns) >= oldest_window_ns;
        if (old || thread.read.count() >= enough_reads) {
            settle_waits(tid, thread, false);
            settle_preempted(tid, thread);
            thread.window_begin_ns = now_ns;
        }
        ++at;
    }
}

void WaitRegistry::finish(std::uint32_t tid, Thread& thread, std::uint64_t now_ns) {
    if (thread.state == State::waiting && thread.wakes == 0 && thread.counted_ns == 0) {
        const std::uint64_t lasted = since(now_ns, thread.since_ns);
        if (!thread.assumed && lasted >= least_ns_ && lasted != 0) {
            emit_({.kind = Kind::idle,
                   .tid = tid,
                   .begin_ns = thread.since_ns,
                   .ns = lasted,
                   .stack = thread.has_stack ? thread.what.stack : 0,
                   .hits = 1,
                   .held = thread.has_stack ? thread.what.held : nullptr,
                   .lasted_ns = lasted});
        }
    } else {
        leave_state(tid, thread, now_ns);
    }
    settle_waits(tid, thread, true);
    settle_preempted(tid, thread);
}

void WaitRegistry::settle_all(std::uint64_t now_ns) {
    for (auto& [tid, thread] : threads_)
        if (thread.state != State::ended) finish(tid, thread, now_ns);
    threads_.clear();
    unread_.clear();
    started_.clear();
    held_.clear();
}

}  // namespace flameprobe

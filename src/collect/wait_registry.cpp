#include "collect/wait_registry.hpp"

#include <algorithm>

namespace flameprobe {
namespace {

// A window is settled when it has `enough_reads`, or is `oldest_window_ns` old: the scaling to the exact time needs a
// few reads, and a killed host loses no more than this.
constexpr std::size_t enough_reads = 32;
constexpr std::uint64_t oldest_window_ns = 250'000'000;
// A wait that has lasted this many pauses is all but certainly read, so it weighs what it lasts: it is counted while it
// goes on.
constexpr double certain_pauses = 20;

std::uint64_t since(std::uint64_t now, std::uint64_t then) { return now > then ? now - then : 0; }

}  // namespace

WaitRegistry::WaitRegistry(std::uint64_t least_ns, std::uint64_t mean_pause_ns, Emit emit)
    : least_ns_(least_ns), emit_(std::move(emit)), looks_(mean_pause_ns) {}

void WaitRegistry::begin(std::uint64_t now_ns, const std::vector<std::uint32_t>& tids) {
    for (const std::uint32_t tid : tids) {
        Thread& thread = threads_[tid];
        if (thread.state != State::unknown) continue;  // a record came first
        thread.state = State::waiting;
        thread.assumed = true;
        thread.since_ns = thread.window_begin_ns = now_ns;
        thread.number = ++last_number_;
    }
}

void WaitRegistry::switched(const ThreadSwitched& record) {
    ++totals_.records;
    Thread& thread = threads_[record.tid];
    if (thread.state == State::ended) return;
    // The thread was assumed to wait, but ran all the time.
    if (thread.assumed && record.out) thread.state = State::running;
    thread.only_started = false;
    leave_state(record.tid, thread, record.time_ns);
    totals_.ins += record.out ? 0 : 1;
    thread.state = !record.out ? State::running : record.preempted ? State::preempted : State::waiting;
    if (record.out) ++(record.preempted ? totals_.preemptions : totals_.waits);
}

void WaitRegistry::started(std::uint32_t tid, std::uint64_t time_ns) {
    if (const auto old = threads_.find(tid); old != threads_.end()) finish(tid, old->second, time_ns);
    Thread& thread = threads_[tid] = {};
    thread.state = State::preempted;  // until a CPU takes it for the first time
    thread.only_started = true;
    thread.account.born();
    thread.since_ns = thread.window_begin_ns = time_ns;
    thread.number = ++last_number_;
}

// Kept until it is settled, so that a last switch record does not make a new thread of it.
void WaitRegistry::ended(std::uint32_t tid, std::uint64_t time_ns) {
    const auto found = threads_.find(tid);
    if (found == threads_.end()) return;
    leave_state(tid, found->second, time_ns);
    finish(tid, found->second, time_ns);
    found->second.state = State::ended;
}

void WaitRegistry::lost(std::uint64_t time_ns) {
    for (auto& [tid, thread] : threads_) {
        if (thread.state == State::ended) continue;
        thread.account.records_lost();
        leave_state(tid, thread, time_ns);
        thread.state = State::waiting;
        thread.assumed = thread.doubtful = true;
    }
}

void WaitRegistry::leave_state(std::uint32_t tid, Thread& thread, std::uint64_t time_ns) {
    std::uint64_t lasted = since(time_ns, thread.since_ns);
    const bool off = thread.state == State::waiting || thread.state == State::preempted;
    if (off) lasted = thread.account.without_overlap(lasted, overlap_ns_);
    thread.account.compare(off, time_ns);
    switch (thread.state) {
        case State::running:
            totals_.running_ns += lasted;
            thread.account.ran(lasted);
            break;
        case State::waiting:
            if (thread.assumed && thread.doubtful) {
                // The thread may have run in between, without records.
                totals_.lost_ns += lasted;
                if (lasted != 0) emit_({.kind = Kind::lost, .tid = tid, .begin_ns = thread.since_ns, .ns = lasted});
                break;
            }
            if (thread.has_stack) {
                thread.has_stack = time_ns >= thread.read_until_ns;
                ++(thread.has_stack ? totals_.waits_read : totals_.waits_raced);
            }
            end_wait(thread, lasted);
            ++thread.wakes;
            break;
        case State::preempted:
            totals_.preempted_ns += lasted;
            thread.account.preempted(lasted);
            if (thread.preempted_on != thread.last_cpu_stack) settle_preempted(tid, thread);
            if (thread.preempted_ns == 0) thread.preempted_since_ns = thread.since_ns;
            thread.preempted_on = thread.last_cpu_stack;
            thread.preempted_ns += lasted;
            break;
        case State::unknown:
            break;  // this is its first record
        case State::ended:
            return;
    }
    thread.since_ns = time_ns;
    if (thread.window_begin_ns == 0) thread.window_begin_ns = time_ns;
    thread.number = ++last_number_;
    thread.counted_ns = 0;
    thread.assumed = thread.doubtful = thread.has_stack = thread.hopeless = false;
}

void WaitRegistry::without_account(std::uint64_t now_ns, std::vector<std::uint32_t>& tids) const {
    tids.clear();
    for (const auto& [tid, thread] : threads_) {
        const bool known = thread.state != State::unknown && thread.state != State::ended && !thread.assumed;
        if (known && thread.account.wants_reading(now_ns)) tids.push_back(tid);
    }
}

void WaitRegistry::account_read(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t delay_ns,
                                std::uint64_t until_ns) {
    if (const auto found = threads_.find(tid); found != threads_.end())
        found->second.account.read(cpu_ns, delay_ns, until_ns);
}

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
    if (!thread.has_stack || lasted == 0) return;
    const double probability = looks_.probability_of_meeting(lasted, thread.read_took_ns);
    const double weight = static_cast<double>(lasted) / probability - static_cast<double>(thread.counted_ns);
    add_estimate(thread, std::max(weight, 1.0), 1 / probability, lasted);
}

void WaitRegistry::add_estimate(Thread& thread, double ns, double waits, std::uint64_t lasted_ns) {
    const bool first = thread.counted_ns == 0;
    thread.read.add(
        {thread.since_ns + thread.counted_ns, ns, thread.what, first ? 1u : 0u, first ? waits : 0, lasted_ns});
}

// The latest first: it is the likeliest to be over soon.
void WaitRegistry::unread(std::vector<Wait>& out) const {
    out.clear();
    for (const auto& [tid, thread] : threads_)
        if (thread.state == State::waiting && !thread.has_stack && !thread.hopeless)
            out.push_back({tid, thread.number});
    std::sort(out.begin(), out.end(), [](const Wait& a, const Wait& b) { return a.number > b.number; });
}

void WaitRegistry::held(std::size_t most, std::vector<HeldLooks*>& out) const {
    out.clear();
    for (const auto& [tid, thread] : threads_)
        if (thread.state == State::waiting && thread.has_stack && thread.what.held)
            out.push_back(thread.what.held.get());
    const auto middle = out.begin() + static_cast<std::ptrdiff_t>(std::min(most, out.size()));
    std::ranges::partial_sort(out, middle, {}, &HeldLooks::looked_ns);
    out.erase(middle, out.end());
}

void WaitRegistry::doubt_starts(std::uint64_t now_ns) {
    constexpr std::uint64_t long_ns = 20'000'000;
    for (auto& [tid, thread] : threads_) {
        if (!thread.only_started || thread.state != State::preempted || since(now_ns, thread.since_ns) < long_ns)
            continue;
        thread.state = State::waiting;
        thread.assumed = true;
    }
}

WaitRegistry::Thread* WaitRegistry::thread_of(const Wait& wait) {
    const auto found = threads_.find(wait.tid);
    const bool waits =
        found != threads_.end() && found->second.state == State::waiting && found->second.number == wait.number;
    return waits ? &found->second : nullptr;
}

void WaitRegistry::read(const Wait& wait, WaitPlace what, std::uint64_t since_ns, std::uint64_t until_ns) {
    Thread* const thread = thread_of(wait);
    if (thread == nullptr) return;
    if (thread->assumed) ++totals_.waits;
    thread->assumed = false;
    thread->has_stack = true;
    thread->what = what;
    thread->read_until_ns = until_ns;
    thread->read_took_ns = since(until_ns, since_ns);
}

void WaitRegistry::runs(const Wait& wait) {
    Thread* const thread = thread_of(wait);
    if (thread == nullptr || !thread->assumed) return;  // woken, and not yet on a CPU
    thread->state = thread->only_started ? State::preempted : State::running;
    thread->assumed = false;
}

void WaitRegistry::set_cpu_stack(std::uint32_t tid, StackId stack) {
    const auto found = threads_.find(tid);
    if (found != threads_.end()) found->second.last_cpu_stack = stack;
}

void WaitRegistry::compare_with_clocks(std::uint64_t now_ns, std::uint64_t cpu_ns) {
    constexpr std::uint64_t enough = 1000, most_ns = 30'000;
    if (totals_.ins < enough) return;
    std::uint64_t running_ns = totals_.running_ns;
    for (const auto& [tid, thread] : threads_)
        if (thread.state == State::running) running_ns += since(now_ns, thread.since_ns);
    overlap_ns_ = std::min(since(cpu_ns, running_ns) / totals_.ins, most_ns);
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
            totals_.idle_ns += lasted;
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
}

std::size_t WaitRegistry::memory() const {
    std::size_t bytes = threads_.bucket_count() * sizeof(void*);
    for (const auto& [tid, thread] : threads_)
        bytes += sizeof(std::pair<std::uint32_t, Thread>) + 4 * sizeof(void*) + thread.read.memory();
    return bytes;
}

}  // namespace flameprobe

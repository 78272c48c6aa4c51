#include "collect/wait_registry.hpp"

namespace flameprobe {

WaitRegistry::WaitRegistry(std::uint64_t least_ns, std::uint64_t mean_pause_ns, Emit emit)
    : least_ns_(least_ns), emit_(std::move(emit)), looks_(mean_pause_ns) {}

void WaitRegistry::begin(std::uint64_t now_ns, const std::vector<std::uint32_t>& tids) {
    for (const std::uint32_t tid : tids) {
        Thread& thread = threads_[tid];
        if (thread.state != State::unknown) continue;  // a record came first
        thread.assumed = true;
        thread.since_ns = thread.window_begin_ns = now_ns;
        thread.number = ++last_number_;
        waits(tid, thread);
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
    thread.state = record.out ? State::preempted : State::running;
    if (record.out && !record.preempted) waits(record.tid, thread);
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
    add_to(started_, {tid, thread.number});
}

void WaitRegistry::waits(std::uint32_t tid, Thread& thread) {
    thread.state = State::waiting;
    add_to(unread_, {tid, thread.number});
}

// A thread has one at a time: of twice as many half are over.
void WaitRegistry::add_to(std::vector<Wait>& waits, const Wait& wait) {
    constexpr std::size_t few = 1000;
    if (waits.size() >= few + 2 * threads_.size())
        std::erase_if(waits, [this](const Wait& old) {
            const auto found = threads_.find(old.tid);
            return found == threads_.end() || found->second.number != old.number;
        });
    waits.push_back(wait);
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
        waits(tid, thread);
        thread.assumed = thread.doubtful = true;
    }
}

void WaitRegistry::leave_state(std::uint32_t tid, Thread& thread, std::uint64_t time_ns) {
    std::uint64_t lasted = since(time_ns, thread.since_ns);
    const bool off = thread.state == State::waiting || thread.state == State::preempted;
    if (off) lasted = thread.account.without_overlap(lasted);
    thread.account.compare(off, time_ns);
    switch (thread.state) {
        case State::running:
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

void WaitRegistry::without_account(std::uint64_t now_ns, std::size_t most, std::vector<std::uint32_t>& tids) {
    constexpr std::size_t most_visited = 64;
    tids.clear();
    if (to_account_.empty())
        for (const auto& [tid, thread] : threads_) to_account_.push_back(tid);
    for (std::size_t left = most_visited; left > 0 && !to_account_.empty() && tids.size() < most; --left) {
        const auto found = threads_.find(to_account_.back());
        to_account_.pop_back();
        if (found == threads_.end()) continue;
        const auto& [tid, thread] = *found;
        const bool known = thread.state != State::unknown && thread.state != State::ended && !thread.assumed;
        if (known && thread.account.wants_reading(now_ns)) tids.push_back(tid);
    }
}

void WaitRegistry::account_read(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t delay_ns,
                                std::uint64_t until_ns) {
    if (const auto found = threads_.find(tid); found != threads_.end())
        found->second.account.read(cpu_ns, delay_ns, until_ns);
}

bool WaitRegistry::is_unread(const Wait& wait) {
    const Thread* const thread = thread_of(wait);
    return thread != nullptr && !thread->has_stack && !thread->hopeless;
}

// The latest first: it is the likeliest to be over soon.
void WaitRegistry::unread(std::vector<Wait>& out) {
    constexpr std::size_t few = 64;
    if (unread_.size() < few || unread_.size() > surely_unread_ + surely_unread_ / 4) {
        std::erase_if(unread_, [this](const Wait& wait) { return !is_unread(wait); });
        surely_unread_ = unread_.size();
    }
    if (!std::ranges::is_sorted(unread_, {}, &Wait::number)) std::ranges::sort(unread_, {}, &Wait::number);
    out.assign(unread_.rbegin(), unread_.rend());
}

void WaitRegistry::held(std::size_t most, std::vector<HeldLooks*>& out) {
    out.clear();
    for (std::size_t left = held_.size(); left > 0 && out.size() < most; --left) {
        const Wait wait = held_.front();
        held_.pop_front();
        const Thread* const thread = thread_of(wait);
        if (thread == nullptr || !thread->has_stack || !thread->what.held) continue;
        out.push_back(thread->what.held.get());
        held_.push_back(wait);
    }
}

void WaitRegistry::doubt_starts(std::uint64_t now_ns) {
    constexpr std::uint64_t long_ns = 20'000'000;
    std::erase_if(started_, [&](const Wait& start) {
        const auto found = threads_.find(start.tid);
        if (found == threads_.end() || found->second.number != start.number || !found->second.only_started) return true;
        Thread& thread = found->second;
        if (since(now_ns, thread.since_ns) < long_ns) return false;
        thread.assumed = true;
        waits(start.tid, thread);
        return true;
    });
}

WaitRegistry::Thread* WaitRegistry::thread_of(const Wait& wait) {
    const auto found = threads_.find(wait.tid);
    const bool waits =
        found != threads_.end() && found->second.state == State::waiting && found->second.number == wait.number;
    return waits ? &found->second : nullptr;
}

void WaitRegistry::read(const Wait& wait, WaitPlace what, std::uint64_t until_ns) {
    Thread* const thread = thread_of(wait);
    if (thread == nullptr) return;
    if (thread->assumed) ++totals_.waits;
    thread->assumed = false;
    thread->has_stack = true;
    if (what.held) held_.push_back(wait);
    thread->what = std::move(what);
    thread->read_until_ns = until_ns;
}

void WaitRegistry::runs(const Wait& wait) {
    Thread* const thread = thread_of(wait);
    if (thread == nullptr || !thread->assumed) return;  // woken, and not yet on a CPU
    thread->state = thread->only_started ? State::preempted : State::running;
    thread->assumed = false;
    if (thread->only_started) add_to(started_, wait);
}

void WaitRegistry::set_cpu_stack(std::uint32_t tid, StackId stack) {
    const auto found = threads_.find(tid);
    if (found != threads_.end()) found->second.last_cpu_stack = stack;
}

std::size_t WaitRegistry::memory() const {
    std::size_t bytes = threads_.bucket_count() * sizeof(void*) +
                        (unread_.capacity() + started_.capacity() + held_.size()) * sizeof(Wait);
    for (const auto& [tid, thread] : threads_)
        bytes += sizeof(std::pair<std::uint32_t, Thread>) + 4 * sizeof(void*) + thread.read.memory();
    return bytes;
}

}  // namespace flameprobe

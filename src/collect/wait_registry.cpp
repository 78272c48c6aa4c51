#include "collect/wait_registry.hpp"

#include <algorithm>

namespace flameprobe {

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

void WaitRegistry::without_account(std::uint64_t now_ns, std::size_t most, std::vector<std::uint32_t>& tids) const {
    tids.clear();
    for (const auto& [tid, thread] : threads_) {
        const bool known = thread.state != State::unknown && thread.state != State::ended && !thread.assumed;
        if (known && thread.account.wants_reading(now_ns)) tids.push_back(tid);
    }
    if (tids.size() <= most) return;
    const auto middle = tids.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(tids, middle, {}, [&](auto tid) { return threads_.at(tid).account.read_until_ns(); });
    tids.erase(middle, tids.end());
}

void WaitRegistry::account_read(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t delay_ns,
                                std::uint64_t until_ns) {
    if (const auto found = threads_.find(tid); found != threads_.end())
        found->second.account.read(cpu_ns, delay_ns, until_ns);
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

std::size_t WaitRegistry::memory() const {
    std::size_t bytes = threads_.bucket_count() * sizeof(void*);
    for (const auto& [tid, thread] : threads_)
        bytes += sizeof(std::pair<std::uint32_t, Thread>) + 4 * sizeof(void*) + thread.read.memory();
    return bytes;
}

}  // namespace flameprobe

#include "collect/tick_waits.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/proc.hpp"

namespace flameprobe {
namespace {

// A look costs some 15 us: at 99 looks a second this is 5 % of a CPU at most.
constexpr std::size_t most_threads_a_look = 32;
constexpr std::uint64_t list_every_ns = 100'000'000, gather_ns = 250'000'000;

/// Of a thread's places the latest few stay. Who held a lock was so then only.
void remember(auto& places, const auto& found, const auto& alike) {
    constexpr std::size_t most_kept = 16;
    std::erase_if(places, [&](const auto& place) { return alike(place, found); });
    if (places.size() == most_kept) places.erase(places.begin());
    places.push_back(found);
    places.back().what.held.reset();
}

}  // namespace

void TickWaits::list(std::uint64_t now_ns) {
    if (!tids_.empty() && now_ns < listed_ns_ + list_every_ns) return;
    listed_ns_ = now_ns;
    tids_ = list_other_threads();
    for (auto at = threads_.begin(); at != threads_.end();) {
        if (std::binary_search(tids_.begin(), tids_.end(), at->first)) {
            ++at;
            continue;
        }
        emit_delay(at->first, at->second);
        emit_found(at->first, at->second, true);
        reader_.forget(at->first);
        at = threads_.erase(at);
    }
}

// Stacks last: while the collector has a CPU fewer waits begin, so of the threads that were looked at late short waits
// would be missing.
void TickWaits::look(std::uint64_t now_ns) {
    list(now_ns);
    blocked_anew_.clear();
    held_still_.clear();
    for (std::size_t i = std::min(tids_.size(), most_threads_a_look); i > 0; --i) {
        next_ = next_ + 1 < tids_.size() ? next_ + 1 : 0;
        look_at(tids_[next_], threads_[tids_[next_]], now_ns);
    }
    for (const std::uint32_t tid : blocked_anew_) read_stack(tid, threads_[tid]);
    for (const std::uint32_t tid : held_still_) look_again_(*threads_[tid].found.back().what.held);
}

// A thread that has not got a CPU since it was seen blocked still waits, and where it did: its stack is not read again.
void TickWaits::look_at(std::uint32_t tid, Thread& thread, std::uint64_t now_ns) {
    ++looks_;
    const auto schedule = reader_.schedule(tid);
    if (!schedule) return;
    const bool first = thread.looked_ns == 0;
    if (first) {
        thread.first = thread.last = *schedule;
        thread.begin_ns = thread.settled_ns = now_ns;
    }
    const bool same_wait = thread.blocked && !first && schedule->slices == thread.last.slices;
    if (!same_wait) thread.blocked = finds_blocked(tid, thread);
    if (same_wait && thread.found.back().what.held) held_still_.push_back(tid);
    if (thread.blocked && (same_wait || !first)) ++thread.found.back().looks;
    thread.last = *schedule;
    thread.looked_ns = now_ns;
}

/// Whether the thread is blocked; its wait is then the last of thread.found.
bool TickWaits::finds_blocked(std::uint32_t tid, Thread& thread) {
    BlockedThread where;
    if (reader_.read(tid, where) != BlockedReader::Outcome::blocked) return false;
    thread.found.push_back({where, {}, false, monotonic_ns(), 0, 1});
    blocked_anew_.push_back(tid);
    return true;
}

void TickWaits::read_stack(std::uint32_t tid, Thread& thread) {
    Found& found = thread.found.back();
    found.what = read_wait_(tid, found.where);
    const auto after = reader_.schedule(tid);
    found.raced = !after || after->slices != thread.last.slices;
    raced_ += found.raced ? 1 : 0;
}

// Short waits end before their stack is read more often than long ones do. So the looks that were raced go to other
// waits in the same system call, at the same stack pointer and pc, of this quarter of a second or before; if there are
// none, to no stack.
void TickWaits::share_raced(Thread& thread) {
    const auto alike = [](const Found& a, const Found& b) {
        return a.where.call == b.where.call && a.where.sp == b.where.sp && a.where.pc == b.where.pc;
    };
    std::vector<Found*> others;
    std::size_t turn = 0;
    for (Found& raced : thread.found) {
        if (!raced.raced) continue;
        others.clear();
        for (Found& other : thread.found)
            if (!other.raced && alike(raced, other)) others.push_back(&other);
        if (!others.empty()) {
            others[turn++ % others.size()]->looks += std::exchange(raced.looks, 0);
            continue;
        }
        const auto before =
            std::ranges::find_if(thread.places, [&](const Found& place) { return alike(raced, place); });
        raced.what = before == thread.places.end() ? WaitPlace{} : before->what;
    }
    for (const Found& found : thread.found)
        if (!found.raced) remember(thread.places, found, alike);
}

// What is found of a thread that has not run yet is emitted at the end, when it is known whether the thread ever ran.
void TickWaits::emit_found(std::uint32_t tid, Thread& thread, bool last) {
    const bool idle = thread.last.slices == thread.first.slices;
    const std::uint64_t away = thread.last.cpu_ns - thread.first.cpu_ns + thread.last.delay_ns - thread.first.delay_ns;
    const std::uint64_t life = thread.looked_ns - thread.begin_ns;
    const std::uint64_t waited = life - std::min(life, away);
    const std::uint64_t ns = waited - std::min(waited, thread.emitted_ns);
    share_raced(thread);
    std::uint64_t looks = 0;
    for (const Found& found : thread.found) looks += found.looks;
    if (ns == 0 || (looks == 0 && !last) || (idle && !last)) return;
    const auto kind = idle ? WaitRegistry::Kind::idle : WaitRegistry::Kind::waited;
    if (looks == 0) emit_({.kind = kind, .tid = tid, .begin_ns = thread.settled_ns, .ns = ns});
    std::uint64_t so_far = 0, emitted = 0;
    for (const Found& found : thread.found) {
        if (found.looks == 0) continue;
        so_far += found.looks;
        const auto upto = static_cast<std::uint64_t>(static_cast<double>(ns) * static_cast<double>(so_far) /
                                                     static_cast<double>(looks));
        const std::uint64_t part = (so_far == looks ? ns : upto) - emitted;
        emitted += part;
        if (part != 0)
            emit_({kind, tid, found.begin_ns, part, found.what.stack, found.waits, found.what.reason, 0,
                   found.what.held});
    }
    if (!idle) blocked_ns_ += ns;
    thread.emitted_ns += ns;
    thread.settled_ns = thread.looked_ns;
    // A wait in progress is kept, but not counted as another one.
    if (thread.blocked) thread.found.front() = thread.found.back();
    thread.found.resize(thread.blocked ? 1 : 0);
    if (thread.blocked) thread.found.front().looks = thread.found.front().waits = 0;
}

void TickWaits::emit_delay(std::uint32_t tid, Thread& thread) {
    const std::uint64_t delay = thread.last.delay_ns - thread.first.delay_ns;
    const std::uint64_t ns = delay - std::min(delay, thread.emitted_delay_ns);
    if (ns == 0) return;
    emit_({.kind = WaitRegistry::Kind::preempted,
           .tid = tid,
           .begin_ns = thread.settled_ns,
           .ns = ns,
           .stack = last_stack_(tid)});
    thread.emitted_delay_ns += ns;
    delay_ns_ += ns;
}

// So a thread that woke since the last look is not taken for idle, and its time since then is not lost.
void TickWaits::end(std::uint64_t now_ns) {
    for (auto& [tid, thread] : threads_) {
        const auto schedule = reader_.schedule(tid);
        if (!schedule || thread.looked_ns == 0) continue;
        thread.last = *schedule;
        thread.looked_ns = now_ns;
    }
}

void TickWaits::settle(std::uint64_t now_ns) {
    for (auto& [tid, thread] : threads_) {
        if (now_ns < thread.settled_ns + gather_ns || thread.looked_ns == 0) continue;
        emit_delay(tid, thread);
        emit_found(tid, thread, false);
    }
}

void TickWaits::settle_all() {
    for (auto& [tid, thread] : threads_) {
        emit_delay(tid, thread);
        emit_found(tid, thread, true);
    }
    threads_.clear();
    tids_.clear();
}

}  // namespace flameprobe

#include "collect/tick_waits.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/proc.hpp"

namespace flameprobe {
namespace {

// A look costs some 15 us: at 99 looks a second this is 5 % of a CPU at most.
constexpr std::size_t most_threads_a_look = 32;
constexpr std::uint64_t list_every_ns = 100'000'000, gather_ns = 250'000'000;

}  // namespace

void TickWaits::list(std::uint64_t now_ns) {
    if (!tids_.empty() && now_ns < listed_ns_ + list_every_ns) return;
    listed_ns_ = now_ns;
    tids_ = list_threads();
    std::erase(tids_, static_cast<std::uint32_t>(::syscall(SYS_gettid)));
    std::sort(tids_.begin(), tids_.end());
    for (auto at = threads_.begin(); at != threads_.end();) {
        if (std::binary_search(tids_.begin(), tids_.end(), at->first)) {
            ++at;
            continue;
        }
        emit_gathered(at->first, at->second, true);
        reader_.forget(at->first);
        at = threads_.erase(at);
    }
}

void TickWaits::look(std::uint64_t now_ns) {
    list(now_ns);
    for (std::size_t i = std::min(tids_.size(), most_threads_a_look); i > 0; --i) {
        next_ = next_ + 1 < tids_.size() ? next_ + 1 : 0;
        look_at(tids_[next_], threads_[tids_[next_]], now_ns);
    }
}

// A thread that has not got a CPU since it was seen blocked still waits, and where it did: its stack is not read again.
void TickWaits::look_at(std::uint32_t tid, Thread& thread, std::uint64_t now_ns) {
    ++looks_;
    const auto slices = reader_.slices(tid);
    if (!slices) return;
    const bool first = thread.looked_ns == 0;
    if (first) thread.first_slices = *slices;
    const bool same_wait = thread.blocked && !first && *slices == thread.slices;
    if (!same_wait) {
        BlockedThread blocked;
        emit_gathered(tid, thread, false);
        thread.blocked = reader_.read(tid, blocked) == BlockedReader::Outcome::blocked;
        if (thread.blocked) {
            thread.stack = stack_of_(blocked);
            if (reader_.slices(tid) != slices) {  // it waited, but the stack may be that of what it did then
                thread.stack = 0;
                ++raced_;
            }
        }
    }
    if (thread.blocked && !first) gather(thread, now_ns, !same_wait);
    thread.slices = *slices;
    thread.looked_ns = now_ns;
}

void TickWaits::gather(Thread& thread, std::uint64_t now_ns, bool new_wait) {
    if (thread.gathered_ns == 0) thread.gathered_since_ns = thread.looked_ns;
    thread.gathered_ns += now_ns - thread.looked_ns;
    thread.hits += new_wait ? 1 : 0;
}

// What is gathered of a thread that has not run yet is told at its end, when it is known whether it ever did.
void TickWaits::emit_gathered(std::uint32_t tid, Thread& thread, bool last) {
    const bool idle = thread.slices == thread.first_slices;
    if (thread.gathered_ns == 0 || (idle && !last)) return;
    emit_({tid, thread.gathered_since_ns, thread.gathered_ns, thread.stack, thread.hits, idle});
    thread.gathered_ns = thread.hits = 0;
}

void TickWaits::settle(std::uint64_t now_ns) {
    for (auto& [tid, thread] : threads_)
        if (now_ns > thread.gathered_since_ns + gather_ns) emit_gathered(tid, thread, false);
}

void TickWaits::settle_all() {
    for (auto& [tid, thread] : threads_) emit_gathered(tid, thread, true);
    threads_.clear();
    tids_.clear();
}

}  // namespace flameprobe

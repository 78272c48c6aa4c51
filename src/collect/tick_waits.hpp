// Waits where there are no switch records: the scheduler's account gives how long each thread waited; looks at random
// moments give where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "capture/blocked_reader.hpp"
#include "collect/wait_registry.hpp"

namespace flameprobe {

/// A thread's time that is neither on a CPU nor in a run queue (both from schedstat) is waiting time: exact, but for
/// the tick by which the account of a running thread is behind. It is shared among the stacks that the looks of the
/// same quarter of a second found, each look counting the same. The collector thread only.
class TickWaits {
public:
    using Span = WaitRegistry::Span;
    using Emit = std::function<void(const Span&)>;
    /// Gives where a thread waits that is blocked now.
    using ReadWait = std::function<WaitPlace(std::uint32_t tid, const BlockedThread&)>;
    using LookAgain = std::function<void(HeldLooks&)>;
    using LastStack = std::function<StackId(std::uint32_t tid)>;

    TickWaits(BlockedReader& reader, ReadWait read_wait, LookAgain look_again, LastStack last_stack, Emit emit)
        : reader_(reader),
          read_wait_(std::move(read_wait)),
          look_again_(std::move(look_again)),
          last_stack_(std::move(last_stack)),
          emit_(std::move(emit)) {}

    /// A thread that has begun: it is looked at from now on, not only when all are listed again.
    void meet(std::uint32_t tid) {
        const auto at = std::ranges::lower_bound(tids_, tid);
        if (at == tids_.end() || *at != tid) tids_.insert(at, tid);
    }
    /// Looks at the host's threads; at some in turn if there are many, so that the cost is bounded.
    void look(std::uint64_t now_ns);
    /// Emits what has gathered for long enough; settle_all() emits everything and forgets all threads.
    void settle(std::uint64_t now_ns);
    void settle_all();
    /// Reads the accounts of all threads a last time, when sampling pauses.
    void end(std::uint64_t now_ns);

    std::uint64_t looks() const { return looks_; }
    std::uint64_t raced() const { return raced_; }
    std::uint64_t blocked_ns() const { return blocked_ns_; }
    std::uint64_t delay_ns() const { return delay_ns_; }

private:
    /// What looks found in the same place, since it was last settled.
    struct Found {
        BlockedThread where;
        WaitPlace what;
        bool raced = false;  // the thread ran while its stack was read, so the stack may be of what it did then
        std::uint64_t begin_ns = 0, looks = 0, waits = 0;
    };
    struct Thread {
        std::uint64_t begin_ns = 0, looked_ns = 0, settled_ns = 0;
        TaskSchedule first, last;  // at begin_ns, looked_ns
        std::uint64_t emitted_ns = 0, emitted_delay_ns = 0;
        bool blocked = false;  // at looked_ns, where `found.back()` says
        std::vector<Found> found;
        std::vector<Found> places;  // where it was found before, the latest last
    };

    void list(std::uint64_t now_ns);
    void look_at(std::uint32_t tid, Thread& thread, std::uint64_t now_ns);
    bool finds_blocked(std::uint32_t tid, Thread& thread);
    void read_stack(std::uint32_t tid, Thread& thread);
    void share_raced(Thread& thread);
    void emit_found(std::uint32_t tid, Thread& thread, bool last);
    void emit_delay(std::uint32_t tid, Thread& thread);

    BlockedReader& reader_;
    const ReadWait read_wait_;
    const LookAgain look_again_;
    const LastStack last_stack_;
    const Emit emit_;
    std::unordered_map<std::uint32_t, Thread> threads_;
    std::vector<std::uint32_t> tids_, blocked_anew_, held_still_;
    std::size_t next_ = 0;  // index in tids_ of the thread to look at next
    std::uint64_t listed_ns_ = 0;
    std::uint64_t looks_ = 0, raced_ = 0, blocked_ns_ = 0, delay_ns_ = 0;
};

}  // namespace flameprobe

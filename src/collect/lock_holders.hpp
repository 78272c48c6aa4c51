// Who holds the lock that a blocked thread waits for, and what that one does: read in the same look, of words that are
// read twice around the check that the thread is still blocked there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/blocked_reader.hpp"
#include "collect/glibc_locks.hpp"
#include "profile/model.hpp"

namespace flameprobe {

class Pipeline;

/// Threads that wait for each other in a circle.
struct LockCycle {
    struct Member {
        std::uint32_t tid = 0;
        std::string name;
        BlockedThread where;
        LockFunction function = LockFunction::none;
        std::uint64_t lock = 0;
        std::uint64_t slices = 0;  // as long as they stay the same, the thread has not run
    };
    std::vector<Member> members;  // each waits for a lock of the next one, the last for one of the first
    bool lasts = false;           // a later look found it too: none of these threads will wake
};

/// For the log.
struct Deadlock {
    std::string sentence;
    std::vector<std::string> stacks;  // a line for each of its threads
};

/// Who held a lock at one moment.
struct Held {
    std::uint64_t lock = 0;  // address
    std::uint32_t tid = 0;   // of the holder
    std::string name;
    std::uint64_t time_ns = 0;  // after the profile's start
    /// The holder waits, by itself or through others, for a thread that waits for it.
    std::shared_ptr<const LockCycle> cycle;
    /// Where the holder is blocked, and what lock it waits for. Of the last one that is shown only the circle is known.
    StackId blocked = 0;
    std::shared_ptr<const Held> next;
    /// Of a holder that was not blocked: its last CPU sample before the moment, and the first one after it.
    struct Near {
        StackId stack = 0;
        std::uint64_t time_ns = 0;
    } before, after;

    /// The CPU sample that is nearer in time; 0 if there is none.
    StackId nearest() const;
    bool is_deadlock() const { return (cycle && cycle->lasts) || (next && next->is_deadlock()); }
};

/// A wait for a lock, and who held it at each look at the wait.
class HeldLooks {
public:
    explicit HeldLooks(LockCycle::Member waiter) : waiter_(std::move(waiter)) {}

    const LockCycle::Member& waiter() const { return waiter_; }
    std::uint64_t lock() const { return found_.back()->lock; }
    bool is_deadlock() const { return found_.back()->is_deadlock(); }
    void add(std::shared_ptr<const Held> held) {
        constexpr std::size_t most = 64;
        if (found_.size() == most) found_.erase(found_.begin()), told_ -= told_ == 0 ? 0 : 1;
        found_.push_back(std::move(held));
    }
    const Held& last() const { return *found_.back(); }
    /// Those of the looks since the last call, or the last one.
    std::span<const std::shared_ptr<const Held>> take() {
        const std::size_t from = told_ == found_.size() ? told_ - 1 : told_;
        told_ = found_.size();
        return std::span(found_).subspan(from);
    }

private:
    LockCycle::Member waiter_;
    std::vector<std::shared_ptr<const Held>> found_;
    std::size_t told_ = 0;
};

/// The collector thread only.
class LockHolders {
public:
    /// Both must outlive it.
    LockHolders(Pipeline& pipeline, BlockedReader& reader);

    /// A new look begins: circles that earlier ones found are looked at again.
    void begin_look();
    /// The holder of the lock that the thread waits for; null where that cannot be proven. To be called right after
    /// Pipeline::blocked_stack() of that thread.
    std::shared_ptr<HeldLooks> find(std::uint32_t tid, const BlockedThread& where);
    void look_again(HeldLooks& looks);
    /// `stack` and, on the leaf's side of it, the holder and its stack.
    StackId stack_with(StackId stack, const Held& held);
    std::vector<Deadlock> take_deadlocks() { return std::exchange(deadlocks_, {}); }
    void thread_ended(std::uint32_t tid) { seen_.erase(tid); }
    std::size_t memory() const;  // bytes, estimated

private:
    /// A blocked thread's stack, which stays true as long as the thread does not run.
    struct Seen {
        std::uint64_t slices = 0;
        BlockedThread where;
        StackId stack = 0;
        LockFunction function = LockFunction::none;
        std::string name{};
    };
    using Member = LockCycle::Member;

    std::optional<std::uint32_t> owner_now(const Member& member) const;
    std::shared_ptr<Held> holder_of(Member waiter);
    const Seen* blocked_holder(std::uint32_t tid, bool& runs);
    void find_samples(const std::shared_ptr<Held>& held);
    void sampled(ThreadId thread, StackId stack, std::uint64_t time_ns);
    std::shared_ptr<const LockCycle> cycle_from(std::size_t first);
    bool still_waits(const LockCycle& cycle);
    Deadlock describe(const LockCycle& cycle);
    std::string name_of(std::uint32_t tid) const;

    Pipeline& pipeline_;
    BlockedReader& reader_;
    LockFunctions functions_;
    std::vector<Member> chain_;  // of the wait that is being looked at
    std::unordered_map<std::uint32_t, Seen> seen_;
    std::unordered_map<ThreadId, Held::Near> last_samples_;                    // bounded as ThreadRegistry is
    std::unordered_map<ThreadId, std::vector<std::weak_ptr<Held>>> awaiting_;  // the holder's next sample
    std::vector<std::shared_ptr<LockCycle>> cycles_;
    std::vector<Deadlock> deadlocks_;
    std::unordered_set<std::string> named_;  // holders that are shown by their names
};

}  // namespace flameprobe

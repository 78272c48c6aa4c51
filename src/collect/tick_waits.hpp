// Waits where there are no switch records: what each look at a thread finds stands for the time since the look before.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "capture/blocked_reader.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// The collector thread only.
class TickWaits {
public:
    struct Span {
        std::uint32_t tid = 0;
        std::uint64_t begin_ns = 0, ns = 0;
        StackId stack = 0;
        std::uint64_t hits = 0;
        bool idle = false;  // the thread has not run while sampling was on
    };
    using Emit = std::function<void(const Span&)>;
    /// Of a thread that is blocked now.
    using StackOf = std::function<StackId(const BlockedThread&)>;

    TickWaits(BlockedReader& reader, StackOf stack_of, Emit emit)
        : reader_(reader), stack_of_(std::move(stack_of)), emit_(std::move(emit)) {}

    /// Looks at threads of the host, of many at some in turn: what it costs has a bound.
    void look(std::uint64_t now_ns);
    /// Emits what has gathered for long enough / everything, and forgets all threads.
    void settle(std::uint64_t now_ns);
    void settle_all();

    std::uint64_t looks() const { return looks_; }
    std::uint64_t raced() const { return raced_; }

private:
    struct Thread {
        std::uint64_t looked_ns = 0;
        std::uint64_t slices = 0;        // how often it had got a CPU, when it was looked at
        std::uint64_t first_slices = 0;  // ... for the first time
        bool blocked = false;            // then, with `stack`
        StackId stack = 0;
        std::uint64_t gathered_ns = 0, gathered_since_ns = 0, hits = 0;
    };

    void list(std::uint64_t now_ns);
    void look_at(std::uint32_t tid, Thread& thread, std::uint64_t now_ns);
    void gather(Thread& thread, std::uint64_t now_ns, bool new_wait);
    void emit_gathered(std::uint32_t tid, Thread& thread, bool last);

    BlockedReader& reader_;
    const StackOf stack_of_;
    const Emit emit_;
    std::unordered_map<std::uint32_t, Thread> threads_;
    std::vector<std::uint32_t> tids_;
    std::size_t next_ = 0;  // whose turn it is, in tids_
    std::uint64_t listed_ns_ = 0;
    std::uint64_t looks_ = 0, raced_ = 0;
};

}  // namespace flameprobe

// Stacks deeper than their copy: the frames beyond it are taken from another sample or from live memory, where it can
// be proven that they were there.
//
// The stack beyond a copy's end changes only once the thread has returned to a frame there. If the copies of two
// samples of a thread share their outermost frames, CFA for CFA and return address for return address, the thread has
// not done that in between, unless every one of those frames was called again from the same places. So a stack is
// continued
//  - by the thread's sample before or after it, if that one is whole and shares enough;
//  - by both of these, if they agree: then sharing little is enough;
//  - by live memory (LiveStack), if a sample taken after the reading shares enough, or if the sample before shares a
//    little and agrees.
// Popped stack keeps its old bytes: memory alone, without another sample, proves nothing. A stack that is not proven is
// cut at the end of its copy. Where frames may be called again from the same places, CallerEvidence has the last word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "collect/stack_junction.hpp"
#include "profile/model.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// The part of a stack that did not fit in the copy, read from the living thread's memory. Nothing read here is certain
/// by itself.
class LiveStack final : public StackBeyond {
public:
    /// To be called before each walk, with the sample's copy: its bytes must stay valid until the walk is done.
    void begin(StackCopy copy) {
        copy_ = copy;
        read_any_ = false;
    }
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override;

    bool read_any() const { return read_any_; }
    /// Whether the end of the copy is still what live memory holds there: call after the walk.
    bool copy_still_true() const;
    /// To be called at each drain: what live reads may cost starts again.
    void new_round() { budget_ = budget_bytes; }

private:
    // A stack of 4 MiB costs half a millisecond to copy: without a limit, deep hosts would be read all the time.
    static constexpr std::uint64_t budget_bytes = 64 << 20;

    StackCopy copy_;
    bool read_any_ = false;
    std::uint64_t budget_ = budget_bytes;
};

/// Replaces all frames but the first `proven` by those of `whole`, a stack of the same thread up to its start. False,
/// and nothing done, if the two do not share enough to be sure.
bool continue_like(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole);

/// The collector thread only. Samples of each thread must come in the order in which they were taken.
class Continuations {
public:
    /// Gets every added sample once: with all frames, or to be cut to `proven` ones.
    using Emit = std::function<void(const DeepSample&, bool whole)>;
    explicit Continuations(Emit emit) : emit_(std::move(emit)) {}

    /// A sample that was whole in its copy.
    void saw_whole(ThreadId thread, const std::vector<CodeFrame>& frames, std::uint64_t now_ns);
    /// Continues `walk` by the thread's last sample. False if that proves nothing: live memory has to be read.
    bool extend(ThreadId thread, Walk& walk) const;
    /// Whether the thread's last sample continues as live memory does now.
    bool agrees_with_last(ThreadId thread, const Walk& read) const;
    /// `extended`: what extend(), or after it agrees_with_last(), gave.
    void add(DeepSample deep, bool extended);
    /// To be called after each drain. Cuts pending samples that were added before `oldest_ns`, and forgets threads that
    /// have not been sampled since `idle_ns`.
    void give_up(std::uint64_t oldest_ns, std::uint64_t idle_ns);

    std::size_t memory() const;

private:
    struct Chain {
        std::vector<CodeFrame> whole;  // of the last sample that was proven
        /// Samples since then, oldest first; all but the last without frames beyond the copy.
        std::vector<DeepSample> pending;
        std::uint64_t seen_ns = 0;
    };
    static constexpr std::size_t most_pending = 1024;  // of a stack
    static constexpr std::size_t most_chains = 4096;
    /// A thread and its stack, known by the CFA of its outermost frame: coroutines have one each, and a thread goes
    /// from one to the other. not_known: no sample has reached the outermost frame yet.
    using Key = std::pair<ThreadId, std::uint64_t>;
    static constexpr std::uint64_t not_known = ~std::uint64_t{0};
    using Chains = std::map<Key, Chain>;

    Chains::const_iterator chain_around(ThreadId thread, const std::vector<CodeFrame>& frames) const;
    Chains::iterator chain_up_to(ThreadId thread, std::uint64_t outermost_cfa);
    bool taken_after_reading(const DeepSample& deep) const;
    void settle(Chain& chain, const std::vector<CodeFrame>& whole);
    void forget_idle(std::uint64_t idle_ns);
    void cut(Chain& chain, std::size_t count);

    Emit emit_;
    Chains chains_;            // of threads that had deep stacks
    std::uint64_t round_ = 0;  // number of drains
};

}  // namespace flameprobe

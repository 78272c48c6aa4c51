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
// cut at the end of its copy. Where frames are called again from the same places, live memory tells sooner or later: it
// continues them otherwise than a sample did, and from then on nothing is continued from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

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

/// An open scope, shown on the leaf's side of its frame.
struct StackLabel {
    std::uint32_t frame;  // from the leaf
    std::uint32_t text;
};

struct DeepSample {
    Sample sample;
    ThreadId shown = 0;               // under which name the profile has it: the thread's when it was sampled
    std::uint64_t time_ns = 0;        // when it was taken, or up to a tick before; CLOCK_MONOTONIC, as the next two
    std::uint64_t came_ns = 0;        // when it was added
    std::uint64_t read_ns = 0;        // when live memory was read for `frames`; 0: they are from the copy alone
    std::vector<CodeFrame> frames{};  // leaf first
    std::size_t proven = 0;           // how many of the frames are from the copy
    std::vector<StackLabel> labels{};
    std::vector<std::uint64_t> kernel_chain{};
    MappingId system_call = 0;  // a note; 0: none
    // While it is pending and its thread has newer samples:
    bool like_next = false;  // shares enough with the next newer one
    std::size_t walked = 0;  // how many frames there were before all but `proven` were dropped
    std::uint64_t read_round = 0;
};

/// Replaces all frames but the first `proven` by those of `whole`, a stack of the same thread up to its start. False,
/// and nothing done, if the two do not share enough to be sure.
bool continue_like(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole);

/// The collector thread only. Samples of each thread must come in the order in which they were taken.
class Continuations {
public:
    /// Gets every added sample once, when it is decided whether its stack is whole or cut to `proven` frames.
    using Emit = std::function<void(const DeepSample&, bool whole)>;
    explicit Continuations(Emit emit) : emit_(std::move(emit)) {}

    /// A sample that was whole in its copy.
    void saw_whole(ThreadId thread, const std::vector<CodeFrame>& frames, std::uint64_t now_ns);
    /// Continues `walk` by the thread's last sample. False if that proves nothing: live memory has to be read.
    bool extend(ThreadId thread, Walk& walk) const;
    /// Whether live memory is to be read though extend() has succeeded: a program may call the same frames again and
    /// again, in turn for callers beyond the copy. Often at first, then for one sample in eight.
    bool is_checked(ThreadId thread, const std::vector<CodeFrame>& frames);
    /// Frames of a copy were seen to continue in two ways: they prove nothing any more.
    void contradicted(const std::vector<CodeFrame>& frames, std::size_t proven);
    /// Whether the thread's last sample continues as live memory does now.
    bool agrees_with_last(ThreadId thread, const Walk& read) const;
    /// `extended`: what extend(), or after it agrees_with_last(), gave.
    void add(DeepSample deep, bool extended);
    /// To be called after each drain. Cuts pending samples that were added before `oldest_ns`, and forgets threads that
    /// have not been sampled since `idle_ns`.
    void give_up(std::uint64_t oldest_ns, std::uint64_t idle_ns);

    std::uint64_t accepted() const { return accepted_; }
    std::uint64_t rejected() const { return rejected_; }
    std::size_t memory() const;

private:
    struct Chain {
        std::vector<CodeFrame> whole;  // of the last sample that was proven
        /// Samples since then, oldest first; all but the last without frames beyond the copy.
        std::vector<DeepSample> pending;
        std::uint64_t seen_ns = 0;
        std::uint32_t extended = 0;  // how often, see is_checked()
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
    bool is_doubted(const std::vector<CodeFrame>& frames, std::size_t proven) const;
    void decide(DeepSample& deep, bool whole);
    void settle(Chain& chain, const std::vector<CodeFrame>& whole);
    void forget_idle(std::uint64_t idle_ns);
    void cut(Chain& chain, std::size_t count);

    Emit emit_;
    Chains chains_;                              // of threads that had deep stacks
    std::unordered_set<std::uint64_t> doubted_;  // see contradicted(); by a hash of the outermost frames
    std::uint64_t accepted_ = 0, rejected_ = 0;
    std::uint64_t round_ = 0;  // number of drains
};

}  // namespace flameprobe

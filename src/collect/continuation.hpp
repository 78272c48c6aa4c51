// Stacks deeper than their copy: the rest is taken from where it can be proven to have stood.
//
// What lies beyond a copy's end changes only while the thread is back above that end. Two samples of a thread whose
// copies share their outermost frames, address for address and return address for return address, have not been there
// in between, unless every one of those frames was called again from the same places. So a stack goes on
//  - as another one of the thread went on, the one before or the one after, if that one is whole and shares enough;
//  - as both of them went on, if they went on alike: then sharing little is enough;
//  - as live memory did (collect/live_stack.hpp), if a sample from after the reading shares enough, or the one before
//    shares a little and went on like that.
// Popped stack keeps its old bytes: memory alone, without another sample, proves nothing. What is not proven is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// An open scope; it stands on the leaf's side of the frame.
struct StackLabel {
    std::uint32_t frame;  // from the leaf
    std::uint32_t text;
};

struct DeepSample {
    Sample sample;
    std::uint64_t time_ns = 0;        // when it was taken, or up to a tick before; CLOCK_MONOTONIC, as are:
    std::uint64_t came_ns = 0;        // when it was added
    std::uint64_t read_ns = 0;        // when live memory was read for `frames`; 0: they are those of the copy alone
    std::vector<CodeFrame> frames{};  // leaf first
    std::size_t proven = 0;           // of the frames, from the copy
    std::vector<StackLabel> labels{};
    std::vector<std::uint64_t> kernel_chain{};
    MappingId system_call = 0;  // a note; 0: none
    // While it waits, behind newer ones of its thread:
    bool like_next = false;  // shares enough with the next of them
    std::size_t walked = 0;  // the number of frames that there were
    std::uint64_t read_round = 0;
};

/// Replaces all frames but the first `proven` by those of `whole`, a stack of the same thread up to its start. False,
/// and nothing done, if the two do not share enough to be sure.
bool continue_like(std::vector<CodeFrame>& frames, std::size_t proven, const std::vector<CodeFrame>& whole);

/// The collector thread only. Samples of each thread must come in the order in which they were taken.
class Continuations {
public:
    /// Told of every sample that was added, once, when it is decided: whole, or only `proven` frames.
    using Tell = std::function<void(const DeepSample&, bool whole)>;
    explicit Continuations(Tell tell) : tell_(std::move(tell)) {}

    /// A sample that was whole in its copy.
    void saw_whole(ThreadId thread, const std::vector<CodeFrame>& frames, std::uint64_t now_ns);
    /// Goes on as the thread's last sample did, if it can; else live memory has to be read.
    bool extend(ThreadId thread, Walk& walk) const;
    /// Whether the thread's last sample went on as live memory does now.
    bool went_on_like(ThreadId thread, const Walk& read) const;
    /// `extended`: what extend(), or after it went_on_like(), said of it.
    void add(DeepSample deep, bool extended);
    /// After each drain. Cuts what was added before `oldest_ns`, and forgets threads that have not been seen since
    /// `idle_ns`.
    void give_up(std::uint64_t oldest_ns, std::uint64_t idle_ns);

    std::uint64_t accepted() const { return accepted_; }
    std::uint64_t rejected() const { return rejected_; }
    std::size_t memory() const;

private:
    struct Chain {
        std::vector<CodeFrame> whole;  // the last sample's that was certain
        std::vector<DeepSample>
            pending;  // those since then, oldest first; all but the last without frames beyond the copy
        std::uint64_t seen_ns = 0;
    };
    static constexpr std::size_t most_pending = 1024;  // of a thread

    bool taken_after_reading(const DeepSample& deep) const;
    void decide(DeepSample& deep, bool whole);
    void settle(Chain& chain, const std::vector<CodeFrame>& whole);
    void cut(Chain& chain, std::size_t count);

    Tell tell_;
    std::unordered_map<ThreadId, Chain> chains_;  // of threads that have been deep
    std::uint64_t accepted_ = 0, rejected_ = 0;
    std::uint64_t round_ = 0;  // of draining
};

}  // namespace flameprobe

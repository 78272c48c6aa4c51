// What the outermost frames of copies say about their callers, as live memory has shown it again and again.
//
// A program may call the same frames, at the same addresses, in turn for two callers. Then the samples around a stack,
// and live memory in between, can agree though the stack had the other caller. What tells is live memory at many times:
// it shows the one caller and the other. So a stack that is deeper than its copy waits until live memory has shown the
// same callers in many drains and once more after the sample, or until the thread has left these frames and does not
// come back to them. Once it shows others, nothing is continued from there any more, and what waits is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "collect/stack_junction.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// The collector thread only.
class CallerEvidence {
public:
    /// Gets every sample once, when it is decided whether its stack is whole or cut to `proven` frames.
    using Emit = std::function<void(const DeepSample&, bool whole)>;
    explicit CallerEvidence(Emit emit) : emit_(std::move(emit)) {}

    /// Whether live memory is to be read though the callers of the copy's frames are foretold.
    bool wants_look(ThreadId thread, const Walk& walk, std::uint64_t now_ns) const;
    /// Live memory was read by `read`, and continues its copy.
    void looked(ThreadId thread, const Walk& read, std::uint64_t now_ns);
    /// The thread has been seen with a stack that was whole in its copy.
    void was_elsewhere(ThreadId thread);
    /// Whether the copy's frames were seen to have different callers.
    bool refutes(ThreadId thread, const Walk& walk) const;
    /// A sample with at least two frames in its copy, and the others as other samples foretell them.
    void add(DeepSample deep);
    /// To be called after each drain. Decides about samples that were added before `oldest_ns`.
    void settle(std::uint64_t oldest_ns);
    std::size_t memory() const;

private:
    /// About one place in a stack: the frames below it on the copy's side, as far as they may prove something.
    struct Callers {
        std::shared_ptr<const std::vector<CodeFrame>> stack;  // null: refuted
        std::size_t joint = 0;                                // the callers are the stack's frames from here on
        ThreadId thread = 0;
        std::uint32_t looks = 0;            // that showed these callers, at most one for a drain
        std::uint64_t round = 0;            // the drain of the last look
        std::uint64_t looked_ns = 0;        // and its time
        std::uint64_t turn = 0;             // the thread's then
        std::vector<DeepSample> waiting{};  // without frames beyond the copy
        bool is_listed = false;             // in waiting_
    };
    /// Of two callers with 70 and 30 % of the time, one alone is seen so often once in 90,000 times.
    static constexpr std::uint32_t enough_looks = 32;
    static constexpr std::uint64_t enough_turns = 8;  // drains that have the thread elsewhere
    static constexpr std::size_t nearby = 16;         // frames on both sides of the copy's end
    static constexpr std::size_t most_frames = std::size_t{1} << 18;
    static constexpr std::size_t most_places = 8192;
    static constexpr std::size_t most_waiting = 1024;  // of a place
    static constexpr std::uint64_t ns_between_looks = 50'000'000;

    struct Turns {
        std::uint64_t count = 0, round = 0;
    };

    std::uint64_t turn(ThreadId thread);
    void refute(Callers& callers);
    void decide(Callers& callers, bool whole);
    void make_room();

    Emit emit_;
    std::unordered_map<std::uint64_t, Callers> places_;  // by hash_at()
    std::vector<std::uint64_t> waiting_;                 // of places_
    std::unordered_map<ThreadId, Turns> turns_;          // in how many drains a thread was seen somewhere
    std::size_t frames_ = 0;                             // in all stacks
    std::uint64_t round_ = 1;                            // number of drains
};

}  // namespace flameprobe

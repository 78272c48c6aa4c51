// Stacks deeper than their copy: who called the outermost frame that a copy holds.
//
// Live memory continues a copy to the thread's start, and each link there is checked as a call: that is a look. Memory
// changes between the sample and the look, so one look proves nothing. What looks have in common does: a place in the
// code (a return address at a copy's end) has the callers that all looks at it have shown, outside of the recursion
// that goes through it. A sample waits until they were seen often enough, and once after it was taken. Where looks
// differ in them, the place's samples are cut, then and for good.
//
// How many levels of a recursion lie between is known where all looks have the same frames there, or where they repeat
// the copy's round, in addresses and sizes, down from the same first one. Else the recursion is folded to one round
// behind the note [recursion].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collect/profile_stacks.hpp"
#include "profile/model.hpp"
#include "unwind/call_check.hpp"
#include "unwind/unwinder.hpp"

namespace flameprobe {

/// A sample whose stack goes on beyond its copy.
struct DeepSample {
    Sample sample;
    ThreadId shown = 0;               // under which name the profile has it: the thread's when it was sampled
    std::uint64_t taken_ns = 0;       // CLOCK_MONOTONIC
    std::vector<CodeFrame> frames{};  // of the copy, leaf first; the last one's CFA is not known
    std::vector<StackLabel> labels{};
    std::vector<std::uint64_t> outer_scopes{};  // ScopeScanner::named_beyond()
    std::vector<std::uint64_t> kernel_chain{};
    MappingId system_call = 0;  // a note; 0: none
};

/// What is known about code and threads beside stacks.
class DeepStackFacts {
public:
    virtual ~DeepStackFacts() = default;
    /// The start of the function in which an address to look up lies, or the address.
    virtual std::uint64_t function_of(std::uint64_t address) = 0;
    /// What the call before `return_address` is to the function in which `callee` lies.
    virtual CallCheck::Verdict judge(std::uint64_t return_address, std::uint64_t callee) = 0;
    /// The word of the host's memory; 0 where there is none.
    virtual std::uint64_t word(std::uint64_t address) = 0;
    virtual std::uint64_t cpu_ns(std::uint32_t tid) = 0;
};

/// The collector thread only.
class DeepStacks {
public:
    enum class Callers : std::uint8_t { known, read_later, not_known };
    /// Gets every added sample once, continued as far as its callers are known, without labels of frames beyond its
    /// copy where they are.
    using Emit = std::function<void(DeepSample&, Callers)>;
    DeepStacks(DeepStackFacts& facts, Emit emit) : facts_(facts), emit_(std::move(emit)) {}

    /// Whether live memory is to be read for this walk, which ended with its copy.
    bool wants_look(ThreadId thread, const Walk& walk, std::uint64_t now_ns);
    /// `read` went on in live memory up to the thread's start, and its links are calls.
    void looked(ThreadId thread, std::uint32_t tid, const Walk& read, std::uint64_t now_ns);
    void add(DeepSample deep);
    /// To be called after each drain. All waiting samples are decided if `at_end`.
    void settle(std::uint64_t now_ns, bool at_end);
    /// Whether samples wait for looks that should come soon.
    bool in_haste() const { return in_haste_; }
    std::size_t memory() const;

    /// No sample waits longer.
    static constexpr std::uint64_t patience_ns = 450'000'000;
    /// Of two callers with 97 and 3 % of the time, one alone is seen so often twice in a thousand times.
    static constexpr std::uint32_t enough_looks = 200;
    /// That show the same frames between: the levels of a recursion are known.
    static constexpr std::uint32_t enough_exact_looks = 8;

private:
    struct Chain {
        std::uint32_t tid = 0;
        std::vector<CodeFrame> frames{};           // the thread's start first
        std::vector<std::uint64_t> prefix_keys{};  // of so many frames, by their functions and the thread

        /// The stack pointer of a frame, which is the CFA of the one that it called.
        std::uint64_t sp(std::size_t at) const { return frames[at + 1].cfa; }
        void keep(std::size_t outermost) { frames.resize(std::min(frames.size(), outermost)); }
    };
    using ChainOwner = std::shared_ptr<const Chain>;
    /// A recursion that repeats itself, as number of frames and bytes; 0: none.
    struct Round {
        std::size_t frames = 0;
        std::uint64_t bytes = 0;
        bool operator==(const Round&) const = default;
    };
    /// A return address where copies end, and what all looks at it have in common.
    struct Place {
        ChainOwner chain{};
        std::size_t frames = 0;      // the last look's
        std::size_t outside = 0;     // so many of the chain's frames stand outside of the recursion
        std::size_t exact = 0;       // so many have been there with the same addresses and CFAs
        std::size_t round_from = 0;  // where the recursion's rounds begin
        Round round{};
        bool in_recursion = false;  // frames lie between the ones outside and the place
        bool stands = true;         // what the frames outside have called always had one CFA
        bool differs = false;       // other callers were seen
        std::uint32_t looks = 0;    // at most one for a drain, as the next
        std::uint64_t drain = 0, probe_drain = 0;
        std::uint64_t looked_ns = 0;
    };
    /// At most one sight of each drain counts: a look, or words that are read where a look has found them.
    struct Seen {
        std::uint32_t count = 0, looks = 0;  // sights while the thread ran; of them looks
        bool by_looks_only = false;          // words may be others'
        std::uint64_t drain = 0, ran_ns = 0;
        std::uint64_t first_cpu_ns = 0;
        struct Time {
            std::uint64_t ns = 0, cpu_ns = 0;
        } last{}, before{};
    };
    /// Of a sample's place: for callers, whatever the size of the recursion's rounds; for levels, with their phase.
    struct Keys {
        std::uint64_t callers, levels;
    };
    struct Waiting {
        DeepSample deep;
        Keys keys;
        bool seen_about = false;  // no gap about it is too long
    };

    static Round round_of(const std::vector<CodeFrame>& frames, std::size_t last);
    static std::uint64_t key_at(ThreadId thread, std::uint64_t address, std::uint64_t sp, const Round& round);
    static Keys keys_of(ThreadId thread, const std::vector<CodeFrame>& frames, std::size_t in_copy);
    Place* place(std::uint64_t key);
    std::shared_ptr<Chain> chain_of(ThreadId thread, std::uint32_t tid, const Walk& read, std::size_t outside) const;
    Place& learn(std::uint64_t key, const ChainOwner& chain, std::size_t outside, bool in_recursion,
                 std::uint64_t now_ns);
    void compare(Place& place, const Chain& chain, std::size_t outside);
    void see(const Chain& chain, std::size_t outside, std::uint64_t now_ns, bool by_look);
    Seen& seen(const Place& place);
    /// What others called in a gap is never shown: it is less than a fiftieth of the CPU time since the first sight.
    static std::uint64_t longest_gap_ns(const Seen& seen) {
        return std::max<std::uint64_t>(3'000'000, (seen.last.cpu_ns - seen.first_cpu_ns) / 50);
    }
    static bool is_about(const Seen& seen, std::uint64_t taken_ns);
    bool is_believed(const Place& place);
    void probe(Place& place, std::uint64_t now_ns);
    bool same_function(std::uint64_t one, std::uint64_t other) {
        return one == other || facts_.function_of(one) == facts_.function_of(other);
    }
    bool decide(Waiting& waiting, std::uint64_t now_ns, bool at_end);
    void continue_by(const Place& place, DeepSample& deep, const Place* levels);
    static bool continue_exactly(const Place& place, DeepSample& deep);
    void fold(DeepSample& deep);
    void make_room();

    DeepStackFacts& facts_;
    Emit emit_;
    std::unordered_map<std::uint64_t, Place> places_;  // by key_at()
    std::unordered_map<std::uint64_t, Seen> seen_;     // by prefix key
    std::unordered_set<ThreadId> tried_;               // in this drain, in vain
    std::deque<Waiting> waiting_;                      // as they came
    std::size_t waiting_frames_ = 0, chain_frames_ = 0;
    std::uint64_t drain_ = 1, settled_ns_ = 0;
    bool in_haste_ = false;
};

}  // namespace flameprobe

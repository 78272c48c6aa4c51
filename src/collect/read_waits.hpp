// The waits of one thread whose stacks were read, and what they weigh: by the odds that a look met them, and once the
// thread's waiting time is known.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elementary.hpp"
#include "base/system_call_names.hpp"
#include "capture/blocked_reader.hpp"
#include "collect/lock_holders.hpp"
#include "profile/counters.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// An index of WaitReasons; 0: no look met the wait.
using WaitReason = std::uint32_t;

/// Why threads wait, added up: the system call, and where the kernel tells it, the place in the kernel (`wchan`).
/// The collector thread only.
class WaitReasons {
public:
    WaitReasons() { sums_.push_back({.call = "[wait not sampled]", .channel = {}}); }

    /// `call` as BlockedThread::call. `channel` may be empty.
    WaitReason find(std::int64_t call, const std::string& channel) {
        const auto [known, is_new] = known_.try_emplace({call, channel}, static_cast<WaitReason>(sums_.size()));
        if (is_new) sums_.push_back({.call = call_text(call), .channel = channel});
        return known->second;
    }
    /// How the call is shown as the last frame of a stack.
    static std::string call_text(std::int64_t call) {
        if (call == BlockedThread::no_call) return "[not in a system call]";
        const std::string_view name = system_call_name(static_cast<unsigned>(call));
        return name.empty() ? "[system call " + std::to_string(call) + "]" : std::string(name);
    }

    /// `waits`: for how many this one stands.
    void add(WaitReason reason, std::uint64_t ns, double waits) {
        sums_[reason].ns += ns;
        sums_[reason].waits += waits;
    }
    /// `all_waits`: the exact number of waits, of which the calls' shares are estimates; 0: not known.
    void add_to(Counters& counters, std::uint64_t all_waits) const {
        double estimated = 0;
        for (const Sum& sum : sums_) estimated += sum.waits;
        const double scale = all_waits == 0 || estimated <= 0 ? 1 : static_cast<double>(all_waits) / estimated;
        std::map<std::string, BlockedCall> calls;
        std::map<std::string, double> waits;
        for (const Sum& sum : sums_) {
            if (sum.ns == 0) continue;
            BlockedCall& call = calls[sum.call];
            call.call = sum.call;
            call.ns += sum.ns;
            waits[sum.call] += sum.waits * scale;
            if (!sum.channel.empty()) call.channels[sum.channel] += sum.ns;
        }
        for (auto& [name, call] : calls) {
            call.waits = rounded(waits[name]);
            set_blocked_call(counters, call);
        }
    }

private:
    struct Sum {
        std::string call, channel;
        std::uint64_t ns = 0;
        double waits = 0;
    };
    std::map<std::pair<std::int64_t, std::string>, WaitReason> known_;
    std::vector<Sum> sums_;  // by WaitReason
};

/// How likely it is that a look meets a wait of d ns. Looks come at random (exponential pauses), and where each reads
/// only a share of the waits, that is drawn by lot: the mean pause between two that read a wait is D, and were a look a
/// moment, p would be 1 - e^(-d/D). It is less, most of all for short waits: they end before they are read, and fewer
/// begin while the collector has a CPU that the program would have used. How much less is counted: the lengths of all
/// waits are known, so of each length it is known how many were met, for one that should have been.
class LookOdds {
public:
    explicit LookOdds(std::uint64_t asked_pause_ns) : asked_pause_ns_(static_cast<double>(asked_pause_ns)) {}

    /// A look that came so long after the last one, and reads this share of the waits.
    void add_pause(std::uint64_t pause_ns, double share = 1) {
        pause_sum_ns_ += static_cast<double>(pause_ns);
        shares_ += share;
    }
    double mean_pause_ns() const { return shares_ == 0 ? asked_pause_ns_ : pause_sum_ns_ / shares_; }
    /// Counts a wait that is over, and gives p.
    double probability_of_meeting(std::uint64_t wait_ns, bool met) {
        const double by_chance = -exp_minus_1(-static_cast<double>(wait_ns) / mean_pause_ns());
        Met& of_length = met_[length_class(wait_ns)];
        of_length.expected += by_chance;
        of_length.times += met ? 1 : 0;
        constexpr double few = 4;  // so many that are met as expected are added, since one or two tell nothing
        return std::min(by_chance * (of_length.times + few) / (of_length.expected + few), 1.0);
    }

private:
    struct Met {
        double times = 0, expected = 0;
    };
    /// Four in each power of two.
    static std::size_t length_class(std::uint64_t ns) {
        const auto bits = static_cast<std::size_t>(std::bit_width(ns));
        return bits < 3 ? ns : 4 * bits + (ns >> (bits - 3)) % 4;
    }

    double asked_pause_ns_;
    double pause_sum_ns_ = 0;
    double shares_ = 0;
    std::array<Met, 4 * 65> met_{};
};

/// What a look found: where a thread waits, and for what.
struct WaitPlace {
    StackId stack = 0;
    WaitReason reason = 0;
    std::shared_ptr<HeldLooks> held{};  // null: it is not known who could end the wait

    bool never_ends() const { return held && held->is_deadlock(); }
};

class ReadWaits {
public:
    struct Estimate {
        std::uint64_t begin_ns;
        double ns;  // for which it stands, before share() scales it
        WaitPlace place;
        std::uint64_t hits;
        double waits;
        std::uint64_t lasted_ns;  // the wait itself, so far
    };
    void add(const Estimate& estimate) { estimates_.push_back(estimate); }
    std::size_t count() const { return estimates_.size(); }
    bool stand_for_time() const { return sum() > 0; }
    void clear() { estimates_.clear(); }
    std::size_t memory() const { return estimates_.capacity() * sizeof(Estimate); }

    /// Calls `emit(estimate, ns)` for each, scaled so that the sum of all is exactly `exact_ns`.
    template <class Emit>
    void share(std::uint64_t exact_ns, const Emit& emit) const {
        const double all = sum();
        double so_far = 0;
        std::uint64_t emitted = 0;
        for (const Estimate& estimate : estimates_) {
            so_far += estimate.ns;
            const double part = static_cast<double>(exact_ns) * so_far / all;
            const bool last = &estimate == &estimates_.back();
            const auto upto = last ? exact_ns : std::min(exact_ns, rounded(part));
            if (upto > emitted) emit(estimate, upto - emitted);
            emitted = std::max(upto, emitted);
        }
    }

private:
    double sum() const {
        double sum = 0;
        for (const Estimate& estimate : estimates_) sum += estimate.ns;
        return sum;
    }

    std::vector<Estimate> estimates_;
};

}  // namespace flameprobe

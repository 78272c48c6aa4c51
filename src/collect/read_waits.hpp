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

/// How likely it is that a look meets a wait, by the looks so far. They come at random (exponential pauses, D ns on
/// average), and one meets a wait of d ns if that goes on for the w ns that the look takes, so with the probability p =
/// 1 - e^(-(d - w)/D). Looks that take longer than d cannot meet it at all, so p is multiplied by the share of those
/// that took less. Where each look reads only a share of the waits, drawn by lot, D is longer by that.
class LookOdds {
public:
    explicit LookOdds(std::uint64_t asked_pause_ns) : asked_pause_ns_(static_cast<double>(asked_pause_ns)) {}

    /// A look at a thread, whatever it found.
    void add_look(std::uint64_t ns) {
        ++by_size_[static_cast<std::size_t>(std::bit_width(ns))];
        ++looks_;
    }
    /// A look that came so long after the last one, and reads this share of the waits.
    void add_pause(std::uint64_t pause_ns, double share = 1) {
        pause_sum_ns_ += static_cast<double>(pause_ns);
        shares_ += share;
    }
    double mean_pause_ns() const { return shares_ == 0 ? asked_pause_ns_ : pause_sum_ns_ / shares_; }
    /// p of a wait that was met by a look which took `took_ns`.
    double probability_of_meeting(std::uint64_t wait_ns, std::uint64_t took_ns) const {
        const auto exact = static_cast<double>(wait_ns);
        const double seen = std::max(exact - static_cast<double>(took_ns), exact / 8);
        return -exp_minus_1(-seen / mean_pause_ns()) * shorter_than(wait_ns);
    }

private:
    /// The share of looks that took less than `ns`. Within a power of two they are taken to be evenly spread.
    double shorter_than(std::uint64_t ns) const {
        constexpr double least = 0.05;  // a wait that was met against the odds must not outweigh the others
        if (looks_ == 0 || ns == 0) return 1;
        const auto size = static_cast<std::size_t>(std::bit_width(ns));
        double shorter = 0;
        for (std::size_t i = 0; i < size; ++i) shorter += static_cast<double>(by_size_[i]);
        const double lowest = static_cast<double>(std::uint64_t{1} << (size - 1));
        shorter += static_cast<double>(by_size_[size]) * (static_cast<double>(ns) - lowest) / lowest;
        return std::max(shorter / static_cast<double>(looks_), least);
    }

    double asked_pause_ns_;
    double pause_sum_ns_ = 0;
    double shares_ = 0;
    std::array<std::uint64_t, 65> by_size_{};  // by the number of bits of the time they took
    std::uint64_t looks_ = 0;
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

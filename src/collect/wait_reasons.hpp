// Why threads wait, added up: the system call, and where the kernel tells it, the place in the kernel (`wchan`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elementary.hpp"
#include "base/system_call_names.hpp"
#include "capture/blocked_reader.hpp"
#include "profile/counters.hpp"

namespace flameprobe {

/// An index of WaitReasons; 0: no look met the wait.
using WaitReason = std::uint32_t;

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

}  // namespace flameprobe

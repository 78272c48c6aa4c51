#include "collect/wait_reasons.hpp"

#include <string_view>

#include "base/elementary.hpp"
#include "base/system_call_names.hpp"
#include "capture/blocked_reader.hpp"

namespace flameprobe {

WaitReasons::WaitReasons() { sums_.push_back({.call = "[wait not sampled]", .channel = {}}); }

std::string WaitReasons::call_text(std::int64_t call) {
    if (call == BlockedThread::no_call) return "[not in a system call]";
    const std::string_view name = system_call_name(static_cast<unsigned>(call));
    return name.empty() ? "[system call " + std::to_string(call) + "]" : std::string(name);
}

WaitReason WaitReasons::find(std::int64_t call, const std::string& channel) {
    const auto [known, is_new] = known_.try_emplace({call, channel}, static_cast<WaitReason>(sums_.size()));
    if (is_new) sums_.push_back({.call = call_text(call), .channel = channel});
    return known->second;
}

void WaitReasons::add(WaitReason reason, std::uint64_t ns, double waits) {
    sums_[reason].ns += ns;
    sums_[reason].waits += waits;
}

void WaitReasons::add_to(Counters& counters, std::uint64_t all_waits) const {
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

}  // namespace flameprobe

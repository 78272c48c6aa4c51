#include "profile/blocked_calls.hpp"

#include <algorithm>

namespace flameprobe {
namespace {

// "blocked in CALL: ns", "blocked in CALL: waits", "blocked in CALL: ns at CHANNEL".
constexpr std::string_view prefix = "blocked in ", ns = ": ns", waits = ": waits", at = ": ns at ";

std::string name_of(const std::string& call, std::string_view what) {
    return std::string(prefix) + call + std::string(what);
}

}  // namespace

void set_blocked_call(Counters& counters, const BlockedCall& call) {
    counters[name_of(call.call, ns)] = call.ns;
    counters[name_of(call.call, waits)] = call.waits;
    for (const auto& [channel, part] : call.channels) counters[name_of(call.call, at) + channel] = part;
}

std::vector<BlockedCall> blocked_calls(const Counters& counters) {
    std::map<std::string, BlockedCall> calls;
    for (auto counter = counters.lower_bound(std::string(prefix)); counter != counters.end(); ++counter) {
        const auto& [name, value] = *counter;
        if (!name.starts_with(prefix)) break;
        const std::size_t colon = name.find(": ", prefix.size());
        if (colon == std::string::npos) continue;
        const std::string_view what = std::string_view(name).substr(colon);
        BlockedCall& call = calls[name.substr(prefix.size(), colon - prefix.size())];
        if (what == ns) call.ns = value;
        if (what == waits) call.waits = value;
        if (what.starts_with(at)) call.channels[std::string(what.substr(at.size()))] = value;
    }
    std::vector<BlockedCall> sorted;
    for (auto& [name, call] : calls) {
        call.call = name;
        sorted.push_back(std::move(call));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const BlockedCall& a, const BlockedCall& b) { return a.ns > b.ns; });
    return sorted;
}

}  // namespace flameprobe

#include "profile/blocked_calls.hpp"

namespace flameprobe {
namespace {

std::string name_of(const std::string& call, std::string_view what) {
    return std::string(blocked_counter::prefix) + call + std::string(what);
}

}  // namespace

void set_blocked_call(Counters& counters, const BlockedCall& call) {
    counters[name_of(call.call, blocked_counter::ns)] = call.ns;
    counters[name_of(call.call, blocked_counter::waits)] = call.waits;
    for (const auto& [channel, part] : call.channels)
        counters[name_of(call.call, blocked_counter::at) + channel] = part;
}

}  // namespace flameprobe

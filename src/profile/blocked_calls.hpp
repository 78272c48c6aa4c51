// Waiting in a profile's counters, by system call. It is read by outside/counters.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace flameprobe {

struct BlockedCall {
    std::string call;  // futex, epoll_wait, [not in a system call], ...
    std::uint64_t ns = 0;
    std::uint64_t waits = 0;  // an estimate, as is `ns`: only some waits are looked at; 0: not known
    /// Where in the kernel (`wchan`, proc(5)): a part of `ns`, since it is not always known.
    std::map<std::string, std::uint64_t> channels;
};

using Counters = std::map<std::string, std::uint64_t>;

/// "blocked in CALL: ns", "blocked in CALL: waits", "blocked in CALL: ns at CHANNEL".
namespace blocked_counter {
inline constexpr std::string_view prefix = "blocked in ", ns = ": ns", waits = ": waits", at = ": ns at ";
}  // namespace blocked_counter

/// Sets the counters of one call. `channels` as in BlockedCall.
void set_blocked_call(Counters& counters, const BlockedCall& call);

}  // namespace flameprobe

// What a profile's counters tell of waits and locks, by their names. They are read by outside/counters.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/binary_text.hpp"

namespace flameprobe {

using Counters = std::map<std::string, std::uint64_t>;

struct BlockedCall {
    std::string call;  // futex, epoll_wait, [not in a system call], ...
    std::uint64_t ns = 0;
    std::uint64_t waits = 0;  // an estimate, as is `ns`: only some waits are looked at; 0: not known
    /// Where in the kernel (`wchan`, proc(5)): a part of `ns`, since it is not always known.
    std::map<std::string, std::uint64_t> channels;
};

/// "blocked in CALL: ns", "blocked in CALL: waits", "blocked in CALL: ns at CHANNEL".
namespace blocked_counter {
inline constexpr std::string_view prefix = "blocked in ", ns = ": ns", waits = ": waits", at = ": ns at ";
}  // namespace blocked_counter

/// Sets the counters of one call. `channels` as in BlockedCall.
inline void set_blocked_call(Counters& counters, const BlockedCall& call) {
    const std::string of_call = std::string(blocked_counter::prefix) + call.call;
    counters[of_call + std::string(blocked_counter::ns)] = call.ns;
    counters[of_call + std::string(blocked_counter::waits)] = call.waits;
    for (const auto& [channel, part] : call.channels)
        counters[of_call + std::string(blocked_counter::at) + channel] = part;
}

/// "lock NAME: waits", "lock NAME: longest wait, ns": how many waits for a lock there were, how long the longest was.
namespace lock_counter {
inline constexpr std::string_view prefix = "lock ", waits = ": waits", longest = ": longest wait, ns";
inline std::string of(const std::string& lock, std::string_view what) {
    return std::string(prefix) + lock + std::string(what);
}
}  // namespace lock_counter

inline void set_lock(Counters& counters, const std::string& lock, std::uint64_t waits, std::uint64_t longest_ns) {
    if (waits != 0) counters[lock_counter::of(lock, lock_counter::waits)] = waits;
    if (longest_ns != 0) counters[lock_counter::of(lock, lock_counter::longest)] = longest_ns;
}

/// A lock's address as text: its name until the program's symbols are read.
inline std::string lock_address(std::uint64_t address) { return hex_number(address); }

/// Frames that say who holds a lock have the lock in the place of a source file: "lock NAME".
inline std::string lock_file(const std::string& name) { return std::string(lock_counter::prefix) + name; }
inline std::string_view lock_name(std::string_view file) {
    return file.starts_with(lock_counter::prefix) ? file.substr(lock_counter::prefix.size()) : file;
}

/// How the sentence on a deadlock begins, which is a note of the profile.
inline constexpr std::string_view deadlock_begin = "deadlock: ";

}  // namespace flameprobe

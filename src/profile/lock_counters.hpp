// What a profile's counters tell of a lock: how many waits there were, and how long the longest was. They are read by
// outside/counters.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/blocked_calls.hpp"

namespace flameprobe {

/// "lock NAME: waits", "lock NAME: longest wait, ns".
namespace lock_counter {
inline constexpr std::string_view prefix = "lock ", waits = ": waits", longest = ": longest wait, ns";
inline std::string of(const std::string& lock, std::string_view what) {
    return std::string(prefix) + lock + std::string(what);
}
}  // namespace lock_counter

/// A lock's address as text: its name until the program's symbols are read.
std::string lock_address(std::uint64_t address);

/// Frames that say who holds a lock have the lock in the place of a source file: "lock NAME".
inline std::string lock_file(const std::string& name) { return std::string(lock_counter::prefix) + name; }
inline std::string_view lock_name(std::string_view file) {
    return file.starts_with(lock_counter::prefix) ? file.substr(lock_counter::prefix.size()) : file;
}

/// How the sentence on a deadlock begins, which is a note of the profile.
inline constexpr std::string_view deadlock_begin = "deadlock: ";

void set_lock(Counters& counters, const std::string& lock, std::uint64_t waits, std::uint64_t longest_ns);

}  // namespace flameprobe

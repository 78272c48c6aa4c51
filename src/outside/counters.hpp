// Reads a profile's counters of waits and locks (profile/counters.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/counters.hpp"

namespace flameprobe {

/// The longest first. Counters of merged profiles give the sums.
std::vector<BlockedCall> blocked_calls(const Counters& counters);

/// A sentence for each.
std::vector<std::string> deadlocks(const Counters& counters);
/// nullopt where it is not known.
std::optional<std::uint64_t> lock_waits(const Counters& counters, const std::string& lock);
std::optional<std::uint64_t> longest_wait(const Counters& counters, const std::string& lock);
/// Whether the larger of two counters of this name stands for both, rather than their sum.
bool is_longest_wait(std::string_view name);
/// Renames the counters of a lock.
void rename_lock(Counters& counters, const std::string& lock, const std::string& name);

}  // namespace flameprobe

// Reads a profile's counters of waits and locks (profile/counters.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/counters.hpp"
#include "profile/model.hpp"

namespace flameprobe {

inline std::optional<std::uint64_t> counter_value(const Counters& counters, std::string_view name) {
    const auto found = counters.find(std::string(name));
    return found == counters.end() ? std::nullopt : std::optional(found->second);
}

/// The longest first. Counters of merged profiles give the sums.
inline std::vector<BlockedCall> blocked_calls(const Counters& counters) {
    std::map<std::string, BlockedCall> calls;
    for (auto counter = counters.lower_bound(std::string(blocked_counter::prefix)); counter != counters.end();
         ++counter) {
        const auto& [name, value] = *counter;
        if (!name.starts_with(blocked_counter::prefix)) break;
        const std::size_t colon = name.find(": ", blocked_counter::prefix.size());
        if (colon == std::string::npos) continue;
        const std::string_view what = std::string_view(name).substr(colon);
        BlockedCall& call = calls[name.substr(blocked_counter::prefix.size(), colon - blocked_counter::prefix.size())];
        if (what == blocked_counter::ns) call.ns = value;
        if (what == blocked_counter::waits) call.waits = value;
        if (what.starts_with(blocked_counter::at))
            call.channels[std::string(what.substr(blocked_counter::at.size()))] = value;
    }
    std::vector<BlockedCall> sorted;
    for (auto& [name, call] : calls) {
        call.call = name;
        sorted.push_back(std::move(call));
    }
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &BlockedCall::ns);
    return sorted;
}

/// A sentence for each.
inline std::vector<std::string> deadlocks(const Counters& counters) {
    std::vector<std::string> sentences;
    const std::string begin = std::string(counter::note).append(deadlock_begin);
    for (auto counter = counters.lower_bound(begin); counter != counters.end(); ++counter) {
        if (!counter->first.starts_with(begin)) break;
        sentences.push_back(counter->first.substr(counter::note.size()));
    }
    return sentences;
}
/// nullopt where it is not known.
inline std::optional<std::uint64_t> lock_waits(const Counters& counters, const std::string& lock) {
    return counter_value(counters, lock_counter::of(lock, lock_counter::waits));
}
inline std::optional<std::uint64_t> longest_wait(const Counters& counters, const std::string& lock) {
    return counter_value(counters, lock_counter::of(lock, lock_counter::longest));
}
/// Whether the larger of two counters of this name stands for both, rather than their sum.
inline bool is_longest_wait(std::string_view name) {
    return name.starts_with(lock_counter::prefix) && name.ends_with(lock_counter::longest);
}
/// Renames the counters of a lock.
inline void rename_lock(Counters& counters, const std::string& lock, const std::string& name) {
    for (const std::string_view what : {lock_counter::waits, lock_counter::longest}) {
        auto counter = counters.extract(lock_counter::of(lock, what));
        if (!counter) continue;
        std::uint64_t& value = counters[lock_counter::of(name, what)];
        value = what == lock_counter::longest ? std::max(value, counter.mapped()) : value + counter.mapped();
    }
}

}  // namespace flameprobe

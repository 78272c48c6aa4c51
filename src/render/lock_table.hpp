// The locks that threads waited for, as far as it is known who held them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct HolderStack {
    std::string holder;  // the thread's name
    /// Root first, as folded text has them; empty if they are not known. A holder that waited itself is followed by
    /// whom it waited for.
    std::vector<std::string> frames;
    std::uint64_t ns = 0;  // of others' waiting
};

struct LockRow {
    std::string lock;  // the variable, or the address
    std::uint64_t waited_ns = 0;
    std::optional<std::uint64_t> waits;  // an estimate
    std::optional<std::uint64_t> longest_ns;
    std::vector<HolderStack> holders;  // the longest first
};

/// The one that was waited for longest first. Of the waiting time among the profile's events; empty if there is none.
std::vector<LockRow> lock_table(const NamedProfile& profile);
/// Of the threads of deadlocks, by tid: the frames below which each waits for ever, leaf first.
std::map<std::uint32_t, std::vector<std::string>> deadlocked_stacks(const NamedProfile& profile);
/// One line: "4.2 s in about 120 waits, the longest 31 ms; held by restock (3.9 s: ...)".
std::string lock_text(const LockRow& row);

}  // namespace flameprobe

// Units of work that the host counts (flameprobe/count.h), as they stand.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flameprobe {

/// By name, since the process began: what a forked child inherits is its parent's.
using UnitCounts = std::map<std::string, std::uint64_t>;

using ReadUnitCounts = UnitCounts (*)();
/// What reads them: set once, before any collector is there. The session knows where they are.
void read_unit_counts_by(ReadUnitCounts read);
/// In a forked child, before anything else: its own begin here.
void begin_unit_counts();
/// The collector thread only.
UnitCounts unit_counts();

}  // namespace flameprobe

// Units of work that the host counts (flameprobe/count.h), as they stand.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flameprobe {

/// By name, since the process began: a forked child does not count what it inherited.
using UnitCounts = std::map<std::string, std::uint64_t>;

using ReadUnitCounts = UnitCounts (*)();
/// Sets the function that reads the counters: once, before there is a collector. Only the session knows where they are.
void read_unit_counts_by(ReadUnitCounts read);
/// To be called in a forked child before anything else: its own counts begin here.
void begin_unit_counts();
/// The collector thread only.
UnitCounts unit_counts();

}  // namespace flameprobe

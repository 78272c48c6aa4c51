// Which functions, and which inlined copies of functions, addresses lie in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "symbolize/dwarf_walk.hpp"

namespace flameprobe {

/// A function whose code holds an address: the concrete one, or a copy inlined into the one before it.
struct FunctionStep {
    Dwarf_Die die{};              // of the concrete function or of the DW_TAG_inlined_subroutine
    std::uint32_t call_file = 0;  // where it was inlined: file of the unit's line table
    std::uint32_t call_line = 0;
};

/// From the concrete function (first) to the innermost inlined one.
using FunctionSteps = std::vector<FunctionStep>;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// The steps for each of the ascending addresses, empty where the unit has no function. One pass over those DIEs that
/// may hold code. `lowest`: code that starts below this address was discarded by the linker. Nothing if the deadline
/// passed.
std::optional<std::vector<FunctionSteps>> find_functions(const CodeUnit& unit, std::span<const std::uint64_t> addresses,
                                                         std::uint64_t lowest, const Deadline& deadline);

}  // namespace flameprobe

// What libunwind makes of a row, to compare with. x86-64 and .eh_frame only.
#pragma once

#include <cstdint>
#include <string>

#include "unwind/cfi_row.hpp"

namespace flameprobe::testing {

/// Where the caller's registers differ if both take one step by that row, in a made-up frame of which each register and
/// each word on the stack has a value of its own; empty if nowhere. "?": libunwind refuses the row.
std::string difference_of_steps(const CfiEntry& entry, const CfiRow& row, std::uint64_t address,
                                std::uint64_t description);

}  // namespace flameprobe::testing

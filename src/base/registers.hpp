#pragma once

#include <array>
#include <cstdint>

#include "cpu/registers.hpp"

namespace flameprobe {

/// The general registers of a sample, in DWARF's numbering.
struct Registers : RegisterNumbers {
    std::array<std::uint64_t, count> value{};

    std::uint64_t pc() const { return value[pc_column]; }
    std::uint64_t sp() const { return value[stack_pointer]; }
    std::uint64_t fp() const { return value[frame_pointer]; }
};

}  // namespace flameprobe

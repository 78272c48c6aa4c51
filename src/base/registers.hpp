#pragma once

#include <array>
#include <cstdint>

namespace flameprobe {

/// The general registers in DWARF's numbering (x86-64 psABI, figure 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi,
/// 6 rbp, 7 rsp, 8-15 r8-r15, 16 the return address column, which here holds the pc.
struct Registers {
    static constexpr unsigned rbx = 3, rbp = 6, rsp = 7, pc_column = 16, count = 17;

    std::array<std::uint64_t, count> value{};

    std::uint64_t pc() const { return value[pc_column]; }
    std::uint64_t sp() const { return value[rsp]; }
    std::uint64_t bp() const { return value[rbp]; }
};

}  // namespace flameprobe

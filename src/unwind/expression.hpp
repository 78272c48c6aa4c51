// A DWARF expression worked out over one frame's registers and memory (DWARF 5, 2.5 and 2.6).
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace flameprobe {

/// What an expression may ask for; nothing where it is not known.
class FrameState {
public:
    virtual ~FrameState() = default;
    virtual std::optional<std::uint64_t> register_value(unsigned dwarf_register) = 0;
    virtual std::optional<std::uint64_t> word(std::uint64_t address) = 0;
    virtual std::optional<std::uint64_t> cfa() = 0;
};

/// Where a value lies in memory, or the value itself (DW_OP_stack_value, a register).
struct Evaluated {
    std::uint64_t number = 0;
    bool is_value = false;
};

/// Nothing if the expression is malformed, does not end, or needs what the frame does not know.
std::optional<Evaluated> evaluate(const Dwarf_Op* operations, std::size_t count, FrameState& frame);

}  // namespace flameprobe

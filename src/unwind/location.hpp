// A DWARF expression worked out as far as it can be without a stack: a register plus a constant, or the word there.
#pragma once

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace flameprobe {

struct SlotLocation {
    enum class Origin : std::uint8_t { constant, cfa, base };  // base: a DWARF register
    Origin origin = Origin::constant;
    unsigned base = 0;
    std::int64_t offset = 0;
    bool loaded = false;  // the word at origin + offset
};

/// Nothing if the operations need more than that: memory in the middle, several registers, branches.
std::optional<SlotLocation> reduce(const Dwarf_Op* operations, std::size_t count, std::uint64_t pc);

}  // namespace flameprobe

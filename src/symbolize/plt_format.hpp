// What the stubs of one CPU's procedure linkage table look like, as GNU ld, gold, lld and mold write them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

/// How a section of stubs is divided.
struct PltShape {
    std::size_t first = 0;  // bytes of the entry that calls the dynamic linker's resolver; 0: there is none
    std::size_t stub = 0;   // bytes of every other one; 0: not known
};

/// What a stub leads to: the address of its slot, or its relocation's place in .rela.plt.
struct PltTarget {
    std::optional<std::uint64_t> slot = {};
    std::optional<std::uint32_t> index = {};
};

struct PltFormat {
    std::uint16_t machine;              // e_machine
    std::uint32_t slot_relocation;      // of a slot outside of .rela.plt: *_GLOB_DAT
    std::uint32_t resolver_relocation;  // of a slot whose function a resolver chooses: *_IRELATIVE
    std::array<std::string_view, 3> sections;
    PltShape (*shape)(std::string_view section, Bytes code);
    PltTarget (*target)(Bytes stub, std::uint64_t address);
};

/// src/arch/<cpu>/plt_format.cpp
extern const PltFormat plt_format_x86_64, plt_format_aarch64;

}  // namespace flameprobe

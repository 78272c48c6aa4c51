// The debug sections of a file as an ELF image in memory, for libdw.
//
// libdw is never given a file: a path inside of it could lead to a FIFO, and libelf 0.188 cannot decompress zstd. The
// image holds the DWARF sections alone, decompressed, in an ELF layout that is ours; without a file descriptor or a
// link section libdw opens no other files either.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elf_head.hpp"
#include "base/memory_map.hpp"
#include "symbolize/elf_file.hpp"

struct Elf;

namespace flameprobe {

/// Immutable once made. Any thread may read the sections; the Elf is for one thread at a time.
class DebugImage {
public:
    using Part = std::pair<std::string_view, Bytes>;  // section name and contents

    /// The sections that libdw needs of a file. Of a file pages are mapped rather than read. A section
    /// that cannot be read or decompressed is left out. Throws std::bad_alloc.
    static DebugImage of(const ElfFile& file);
    /// A copy of the parts.
    static DebugImage of(const std::vector<Part>& parts);

    /// Null if libelf refuses the image.
    Elf* elf() const { return elf_.get(); }
    /// Empty if the image has no such section.
    Bytes section(std::string_view name) const;

    /// The names of the sections that of(file) copies.
    static std::span<const std::string_view> section_names();
    /// The most bytes of memory that of(file) takes.
    static std::uint64_t size_of(const ElfFile& file);

private:
    struct EndElf {
        void operator()(Elf* elf) const;
    };

    /// Reserves address space for the slots; `shifts` says how far into its first page each slot begins.
    void reserve(std::vector<NamedSection> slots, const std::vector<std::uint64_t>& shifts);
    std::span<std::byte> bytes(const NamedSection& slot) const { return map_.bytes().subspan(slot.offset, slot.size); }
    void begin_elf();

    MemoryMap map_;
    std::vector<NamedSection> slots_;
    std::unique_ptr<Elf, EndElf> elf_;
};

}  // namespace flameprobe

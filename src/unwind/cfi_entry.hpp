// The entries of .eh_frame and .debug_frame: which code each describes, by which instructions (DWARF 5, section 6.4.1;
// LSB 5.0, section 10.6.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/byte_reader.hpp"

namespace flameprobe {

/// A section's bytes, which may be hostile: nothing is read beyond them.
struct CfiSection {
    std::span<const std::byte> bytes;
    std::uint64_t address = 0;  // the file's virtual address of the first, from which DW_EH_PE_pcrel counts
    bool is_debug_frame = false;

    /// A pointer as DW_EH_PE_* encode it (LSB 5.0, section 10.5.1), where `in` stands; `in` reads a part of the
    /// section. Nothing of what a linker does not write there: relative to text, data or a function, aligned, indirect.
    std::optional<std::uint64_t> pointer(ByteReader& in, std::span<const std::byte> read, unsigned encoding) const;
};

/// Common information entry: what descriptions share.
struct CfiCommon {
    std::uint64_t code_alignment = 0;
    std::int64_t data_alignment = 0;
    std::uint64_t return_column = 0;
    std::uint8_t encoding = 0;  // of the pointers in descriptions
    bool sized = false;         // descriptions have augmentation data, behind its length
    bool is_signal_frame = false;
    std::span<const std::byte> instructions;
};

/// Frame description entry, with its common one.
struct CfiEntry {
    CfiSection section;
    CfiCommon common;
    std::uint64_t start = 0, end = 0;  // the file's virtual addresses of the code
    std::span<const std::byte> instructions;

    bool covers(std::uint64_t address) const { return address >= start && address < end; }
};

/// How an entry begins, which has at most 1 MiB, and a common one 4 KiB: so hostile ones take no time.
struct CfiHeader {
    static constexpr std::uint32_t longest = 1U << 20;

    std::uint64_t body = 0, end = 0;  // offsets in the section: behind the identifier, and of the next entry
    std::uint64_t common = 0;         // of a description: the offset of its common entry
    enum class Kind : std::uint8_t { common, description, terminator } kind = Kind::terminator;

    /// Nothing if it is not whole.
    static std::optional<CfiHeader> at(const CfiSection& section, std::uint64_t offset);
};

/// Nothing if there is no common entry, or one of a version, an augmentation ("eh") or a size of addresses that are
/// not known.
std::optional<CfiCommon> cfi_common_at(const CfiSection& section, std::uint64_t offset);
/// The description whose header that is.
std::optional<CfiEntry> cfi_entry(const CfiSection& section, const CfiHeader& header, const CfiCommon& common);
/// With the common entry that its header leads to.
std::optional<CfiEntry> cfi_entry(const CfiSection& section, const CfiHeader& header);
/// The description at an offset; nothing if there is none.
std::optional<CfiEntry> cfi_entry_at(const CfiSection& section, std::uint64_t offset);

}  // namespace flameprobe

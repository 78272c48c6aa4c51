// A 64-bit little-endian ELF file: its segments, sections and notes, read so that hostile files do no harm.
#pragma once

#include <elf.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "symbolize/file_bytes.hpp"

namespace flameprobe {

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
};

struct ElfSegment {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t file_size = 0;
    bool executable = false;
    std::uint64_t alignment = 0;  // p_align, as the file has it

    /// The address in the file where a mapping of this segment begins that starts at `file_offset`: the start of its
    /// page, whatever size pages had where the program ran. Addresses and file offsets differ by multiples of the
    /// alignment. `offset` is not used: in a separate debug file it is not the program's.
    std::uint64_t mapped_from(std::uint64_t file_offset) const {
        constexpr std::uint64_t least = 4096;
        const bool usable = std::has_single_bit(alignment) && alignment >= least;
        return address - ((address - file_offset) & ((usable ? alignment : least) - 1));
    }
};

class ElfFile {
public:
    static Result<std::unique_ptr<ElfFile>> open(const std::string& path, int root = -1);
    /// `name` is the file's name in messages.
    static Result<std::unique_ptr<ElfFile>> parse(std::unique_ptr<FileBytes> bytes, std::string name);

    const std::string& path() const { return path_; }
    std::uint16_t machine() const { return machine_; }  // e_machine
    const FileBytes& bytes() const { return *bytes_; }
    const std::vector<ElfSection>& sections() const { return sections_; }
    const std::vector<ElfSegment>& segments() const { return segments_; }  // PT_LOAD only
    const std::string& build_id() const { return build_id_; }              // raw bytes, empty if none
    const ElfSegment& frame_index() const { return frame_index_; }         // PT_GNU_EH_FRAME; of size 0 if none

    const ElfSection* find(std::string_view name) const;
    /// The section that one is linked to: the names of a table's symbols, the symbols of relocations. Null if none is.
    const ElfSection* linked_to(const ElfSection* table) const {
        return table != nullptr && table->link < sections_.size() ? &sections_[table->link] : nullptr;
    }
    /// Decompressed; read on first use and kept; empty if absent. Thread-safe.
    Bytes contents(const ElfSection& section) const;
    Bytes contents(std::string_view name) const;
    /// Reads a part of the contents, from `offset` of them, without keeping it. Gives how many bytes there were: fewer
    /// than asked for at their end, none if they are absent or cannot be read.
    std::size_t read(const ElfSection& section, std::uint64_t offset, std::span<std::byte> out) const;
    /// The text at an offset of a table of names, up to its NUL. Reads no more of the table than that takes: a
    /// compiler's names are megabytes.
    std::string_view text(const ElfSection& names, std::uint64_t offset) const;
    /// Bytes that the contents take, without reading them; 0 if absent.
    std::uint64_t contents_size(std::string_view name) const;

    /// Where the loader puts a file offset, by the executable PT_LOAD that holds it.
    std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;
    /// Where an address lies in the file, by the PT_LOAD that holds it.
    std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
    /// The executable section that holds an address.
    const ElfSection* code_section(std::uint64_t address) const;

private:
    Result<void> read_headers();
    void read_segments(std::uint64_t offset, std::uint64_t count);
    void read_sections(std::uint64_t offset, std::uint64_t count, std::uint64_t names_index);
    void read_build_id(Bytes notes);

    std::uint64_t dynamic_at_ = 0, dynamic_size_ = 0;  // PT_DYNAMIC, in the file

    std::string path_;
    std::uint16_t machine_ = 0;
    std::unique_ptr<FileBytes> bytes_;
    std::vector<ElfSection> sections_;
    std::vector<ElfSegment> segments_;
    ElfSegment frame_index_;
    std::string build_id_;
    mutable std::mutex mutex_;
    mutable std::map<const ElfSection*, Bytes> contents_;
    mutable std::deque<std::string> decompressed_;
};

/// Whether is_wanted(const Elf64_Sym&) gives true for one of a table; the first ends the search. Reads the table piece
/// by piece and keeps nothing: pages for all of a compiler's table take longer than to read it twice.
template <class IsWanted>
bool any_symbol(const ElfFile& file, const ElfSection& table, IsWanted is_wanted) {
    std::array<Elf64_Sym, 1024> piece;
    for (std::uint64_t at = 0;; at += sizeof piece) {
        const std::size_t count = file.read(table, at, std::as_writable_bytes(std::span(piece))) / sizeof(Elf64_Sym);
        for (std::size_t i = 0; i < count; ++i)
            if (is_wanted(piece[i])) return true;
        if (count < piece.size()) return false;
    }
}

template <class Use>
void for_each_symbol(const ElfFile& file, const ElfSection& table, Use use) {
    any_symbol(file, table, [&](const Elf64_Sym& symbol) {
        use(symbol);
        return false;
    });
}

}  // namespace flameprobe

// A file's unwind tables: which description covers an address, read no further than that takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_index.hpp"
#include "base/memory_map.hpp"
#include "unwind/cfi_entry.hpp"
#include "unwind/elf_image.hpp"

namespace flameprobe {

/// Part of a file, of which pages are read when they are first wanted. One thread only.
class FilePages {
public:
    FilePages() = default;
    /// Of [offset, offset + size) of the file; empty if there is no address space for it. `image` must outlive it.
    FilePages(const ElfImage& image, std::uint64_t offset, std::uint64_t size);

    /// Zeros where nothing was wanted yet.
    std::span<const std::byte> bytes() const { return bytes_.bytes(); }
    /// Reads [at, at + size) of them. False: the file has no such bytes.
    bool want(std::uint64_t at, std::uint64_t size);

private:
    const ElfImage* image_ = nullptr;
    std::uint64_t offset_ = 0;
    MemoryMap bytes_;
    std::vector<bool> is_read_;  // by page
};

/// The descriptions of a section that has no search table, found by reading it from its beginning. Of those that start
/// at the same address the first is known.
class CfiList {
public:
    CfiList() = default;
    /// `ends`: at the first terminator. Else, where the section's own size is known, terminators are passed over.
    CfiList(const CfiSection& section, bool ends);

    /// The description that covers the address, in the section that was listed.
    std::optional<CfiEntry> entry_of(const CfiSection& section, std::uint64_t address) const;
    /// As FunctionIndex has it.
    std::uint64_t start_of(std::uint64_t address) const;
    std::uint64_t next_start(std::uint64_t address) const;
    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        std::uint64_t start = 0, offset = 0;
    };
    std::vector<Entry>::const_iterator after(std::uint64_t address) const;

    std::vector<Entry> entries_;  // by start
};

/// .eh_frame, with the search table of .eh_frame_hdr (LSB 5.0, section 10.6.2) or a list of its own where there is
/// none. One thread only.
class EhFrame {
public:
    /// `image` must outlive it.
    explicit EhFrame(const ElfImage& image);

    /// The description that covers a virtual address of the file. Its bytes belong to this object.
    std::optional<CfiEntry> entry_of(std::uint64_t address);
    /// The last function's start at or before the address, and the first behind it; 0: there is none.
    std::uint64_t start_of(std::uint64_t address) const {
        return index_.size() != 0 ? index_.start_of(address) : list_.start_of(address);
    }
    std::uint64_t next_start(std::uint64_t address) const {
        return index_.size() != 0 ? index_.next_start(address) : list_.next_start(address);
    }
    /// How many functions it tells apart.
    std::size_t size() const { return index_.size() != 0 ? index_.size() : list_.size(); }

private:
    void read_whole(const ElfImage& image, std::uint64_t frames);
    bool want_entry(std::uint64_t offset);

    FilePages pages_;
    CfiSection section_;   // of those pages, from the first of the two sections to the end of their segment
    FunctionIndex index_;  // of those pages
    CfiList list_;
};

/// .debug_frame: the unwind tables of code that was built without .eh_frame.
class DebugFrame {
public:
    DebugFrame() = default;
    /// From the file itself, or else from the separate file that its debug information was moved to: by build id below
    /// /usr/lib/debug, or by .gnu_debuglink (its CRC is checked where there is no build id). `path`: the file's.
    DebugFrame(const ElfImage& image, const std::string& path);

    /// As EhFrame has it.
    std::optional<CfiEntry> entry_of(std::uint64_t address) const { return list_.entry_of(section_, address); }

private:
    bool read(const ElfImage& image);

    MemoryMap bytes_;
    CfiSection section_;
    CfiList list_;
};

}  // namespace flameprobe

// What libdw is given of a file's unwind tables, rather than the file itself, of which it would read far more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_index.hpp"
#include "base/memory_map.hpp"
#include "unwind/elf_image.hpp"

struct Dwarf_CFI_s;
struct Dwarf;

namespace flameprobe {

/// A file's .eh_frame_hdr, and those pages of its .eh_frame that were asked for.
/// libdw looks functions up in .eh_frame_hdr's search table, and then reads a few dozen bytes of .eh_frame; left to
/// itself it reads all of that into memory first, for a compiler three megabytes. One thread only.
class FramePages {
public:
    /// nullopt where there is no search table, or not as linkers write it: then libdw must search .eh_frame from its
    /// beginning. `image` must outlive it.
    static std::optional<FramePages> of(const ElfImage& image);

    /// What libdw is to read: program headers and the two sections, at their virtual addresses.
    Elf* elf() const { return pages_.elf(); }
    const FunctionIndex& index() const { return index_; }
    /// Reads what libdw will need for a virtual address of the file. Where that fails, libdw finds nothing there.
    void want(std::uint64_t address);

private:
    FramePages(const ElfImage& image, ElfImage pages, std::span<std::byte> bytes, std::uint64_t first);
    bool fill(std::uint64_t at, std::uint64_t size);
    std::optional<std::uint64_t> fill_entry(std::uint64_t at);

    const ElfImage* image_;
    ElfImage pages_;
    std::span<std::byte> bytes_;   // of pages_
    std::uint64_t first_ = 0;      // the file's offset of what follows the headers in them
    std::uint64_t distance_ = 0;   // from a virtual address to its place in them
    std::vector<bool> is_filled_;  // by page
    FunctionIndex index_;
};

/// .debug_frame: the unwind tables of code that was built without .eh_frame.
/// libdw gets a copy of this one section, since it reads every debug section of a file, which may be gigabytes.
class DebugFrame {
public:
    DebugFrame() = default;
    /// From the file itself, or else from the separate file that its debug information was moved to: by build id below
    /// /usr/lib/debug, or by .gnu_debuglink (its CRC is checked where there is no build id). `path`: the file's.
    DebugFrame(const ElfImage& image, const std::string& path);

    /// Null if there is none.
    Dwarf_CFI_s* cfi() const { return cfi_; }

private:
    struct End {
        void operator()(Elf* elf) const;
        void operator()(Dwarf* dwarf) const;
    };
    bool read(const ElfImage& image);

    MemoryMap bytes_;
    std::unique_ptr<Elf, End> elf_;
    std::unique_ptr<Dwarf, End> dwarf_;
    Dwarf_CFI_s* cfi_ = nullptr;  // owned by dwarf_
};

}  // namespace flameprobe

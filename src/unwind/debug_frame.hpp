// .debug_frame: the unwind tables of code that was built without .eh_frame.
#pragma once

#include <memory>
#include <string>

#include "base/memory_map.hpp"
#include "unwind/elf_image.hpp"

struct Dwarf_CFI_s;
struct Dwarf;

namespace flameprobe {

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

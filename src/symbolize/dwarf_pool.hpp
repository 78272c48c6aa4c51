// libdw's handles on one module: each is for one thread at a time, and is dropped after some use.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "symbolize/debug_image.hpp"

namespace flameprobe {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
};
using DwarfOwner = std::unique_ptr<Dwarf, EndDwarf>;

/// A Dwarf for an image; if it runs out of memory it throws std::bad_alloc, where libdw would end the process. Null if
/// the image has no debug information that libdw can read. Calls for one image must not overlap.
DwarfOwner begin_dwarf(const DebugImage& image);

/// Throws std::bad_alloc unless there is memory for the small things that libdw allocates without a check.
void require_memory();

/// Thread-safe. A Dwarf is not, and frees what it has read only when it ends: so each thread that works on the module
/// has one of its own, and a new one after so many bytes of .debug_info.
class DwarfPool {
public:
    /// The images must outlive the pool; `alternate` (dwz) may be null.
    DwarfPool(const DebugImage& main, const DebugImage* alternate);

    struct Handle {
        DwarfOwner alternate, main;  // `main` refers to `alternate`
        std::uint64_t bytes_read = 0;
    };
    /// Null if libdw cannot read the module. Throws std::bad_alloc.
    std::unique_ptr<Handle> take();
    /// Takes a handle back for reuse, or drops it if it has read enough. A handle in whose use an exception was thrown
    /// must not be given back.
    void give(std::unique_ptr<Handle> handle);

private:
    const DebugImage& main_;
    const DebugImage* alternate_;
    std::uint64_t most_bytes_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Handle>> free_;
};

}  // namespace flameprobe

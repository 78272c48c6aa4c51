// libdw's handles on one module: each is for one thread at a time, and is dropped after some use.
#pragma once

#include <elfutils/libdw.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "symbolize/debug_image.hpp"

namespace flameprobe {

struct EndDwarf {
    void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
};
using DwarfOwner = std::unique_ptr<Dwarf, EndDwarf>;

/// A Dwarf for an image; if it runs out of memory it throws std::bad_alloc, where libdw would end the process. Null if
/// the image has no debug information that libdw can read. Calls for one image must not overlap.
inline DwarfOwner begin_dwarf(const DebugImage& image) {
    if (image.elf() == nullptr) return nullptr;
    DwarfOwner dwarf(::dwarf_begin_elf(image.elf(), DWARF_C_READ, nullptr));
    // libdw's stack frames hold nothing that would have to be released. (To clang [[noreturn]] is no part of the type.)
    struct OutOfMemory {
        __attribute__((noreturn)) static void tell() { throw std::bad_alloc(); }
    };
    if (dwarf) ::dwarf_new_oom_handler(dwarf.get(), OutOfMemory::tell);
    return dwarf;
}

/// Throws std::bad_alloc unless there is memory for the small things that libdw allocates without a check.
inline void require_memory() {
    constexpr std::size_t reserve = std::size_t{8} << 20;
    void* const memory = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::munmap(memory, reserve);
}

/// Thread-safe. A Dwarf is not, and frees what it has read only when it ends: so each thread that works on the module
/// has one of its own, and a new one after so many bytes of .debug_info.
class DwarfPool {
public:
    /// The images must outlive the pool; `alternate` (dwz) may be null.
    DwarfPool(const DebugImage& main, const DebugImage* alternate)
        : main_(main),
          alternate_(alternate),
          most_bytes_(std::max<std::uint64_t>(bytes_per_handle, main.section(".debug_info").size() / most_renewals)) {}

    struct Handle {
        DwarfOwner alternate, main;  // `main` refers to `alternate`
        std::uint64_t bytes_read = 0;
    };
    /// Null if libdw cannot read the module. Throws std::bad_alloc.
    std::unique_ptr<Handle> take() {
        require_memory();
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            auto handle = std::move(free_.back());
            free_.pop_back();
            return handle;
        }
        auto handle = std::make_unique<Handle>();
        handle->main = begin_dwarf(main_);
        if (!handle->main) return nullptr;
        if (alternate_ != nullptr) handle->alternate = begin_dwarf(*alternate_);
        if (handle->alternate) ::dwarf_setalt(handle->main.get(), handle->alternate.get());
        return handle;
    }
    /// Takes a handle back for reuse, or drops it if it has read enough. A handle in whose use an exception was thrown
    /// must not be given back.
    void give(std::unique_ptr<Handle> handle) {
        if (handle->bytes_read >= most_bytes_) return;
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(handle));
    }

private:
    // A new handle after every unit would take three times as long; with one for all, memory grows with the file.
    static constexpr std::uint64_t bytes_per_handle = std::uint64_t{4} << 20;
    // A new handle reads the heads of all units up to the first unit that it is asked for.
    static constexpr std::uint64_t most_renewals = 64;

    const DebugImage& main_;
    const DebugImage* alternate_;
    std::uint64_t most_bytes_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Handle>> free_;
};

}  // namespace flameprobe

// The debug sections of a file as an ELF image in memory, for libdw, and libdw's handles on it.
//
// libdw is never given a file: a path inside of it could lead to a FIFO, and libelf 0.188 cannot decompress zstd. The
// image holds the DWARF sections alone, decompressed, in an ELF layout that is ours; without a file descriptor or a
// link section libdw opens no other files either.
#pragma once

#include <elfutils/libdw.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elf_head.hpp"
#include "base/memory_map.hpp"
#include "symbolize/elf_file.hpp"

namespace flameprobe {

/// Immutable once made. Any thread may read the sections; the Elf is for one thread at a time.
class DebugImage {
public:
    using Parts = std::map<std::string_view, Bytes>;  // contents by section name

    /// The sections that libdw needs of a file. Of a file pages are mapped rather than read. A section
    /// that cannot be read or decompressed is left out. Throws std::bad_alloc.
    static DebugImage of(const ElfFile& file);
    /// A copy of the parts.
    static DebugImage of(const Parts& parts);

    /// Null if libelf refuses the image.
    Elf* elf() const { return elf_.get(); }
    /// Empty if the image has no such section.
    Bytes section(std::string_view name) const;

    /// The most bytes of memory that of(file) takes.
    static std::uint64_t size_of(const ElfFile& file);

private:
    struct EndElf {
        void operator()(Elf* elf) const { ::elf_end(elf); }
    };

    /// Reserves address space for the slots, whose offsets are at first those in each one's first page.
    void reserve(std::vector<NamedSection> slots);
    std::span<std::byte> bytes(const NamedSection& slot) const { return map_.bytes().subspan(slot.offset, slot.size); }
    void begin_elf();

    MemoryMap map_;
    std::vector<NamedSection> slots_;
    std::unique_ptr<Elf, EndElf> elf_;
};

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

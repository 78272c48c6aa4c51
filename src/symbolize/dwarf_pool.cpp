#include "symbolize/dwarf_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace flameprobe {

namespace {

// A new handle after every unit would take three times as long; with one for all, memory grows with the file.
constexpr std::uint64_t bytes_per_handle = std::uint64_t{4} << 20;
// A new handle reads the heads of all units up to the first unit that it is asked for.
constexpr std::uint64_t most_renewals = 64;

/// libdw's stack frames hold nothing that would have to be released. (To clang [[noreturn]] is no part of the type.)
__attribute__((noreturn)) void out_of_memory() { throw std::bad_alloc(); }

}  // namespace

DwarfOwner begin_dwarf(const DebugImage& image) {
    if (image.elf() == nullptr) return nullptr;
    DwarfOwner dwarf(::dwarf_begin_elf(image.elf(), DWARF_C_READ, nullptr));
    if (dwarf) ::dwarf_new_oom_handler(dwarf.get(), out_of_memory);
    return dwarf;
}

void require_memory() {
    constexpr std::size_t reserve = std::size_t{8} << 20;
    void* const memory = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::munmap(memory, reserve);
}

DwarfPool::DwarfPool(const DebugImage& main, const DebugImage* alternate)
    : main_(main),
      alternate_(alternate),
      most_bytes_(std::max<std::uint64_t>(bytes_per_handle, main.section(".debug_info").size() / most_renewals)) {}

std::unique_ptr<DwarfPool::Handle> DwarfPool::take() {
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

void DwarfPool::give(std::unique_ptr<Handle> handle) {
    if (handle->bytes_read >= most_bytes_) return;
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(handle));
}

}  // namespace flameprobe

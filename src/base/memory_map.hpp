#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace flameprobe {

/// Address space that MemoryMap::reserve() took in this process, as far as there is room to note it: see
/// session/host_resources.hpp.
struct OwnRange {
    std::atomic<std::uintptr_t> begin{0};  // 0: a free place
    std::atomic<std::size_t> size{0};
};
inline constinit std::array<OwnRange, 64> own_ranges{};

/// Owns an mmap'ed range; unmaps it once.
class MemoryMap {
public:
    MemoryMap() = default;
    MemoryMap(void* address, std::size_t size) noexcept : address_(address), size_(size) {}
    MemoryMap(MemoryMap&& other) noexcept
        : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    MemoryMap& operator=(MemoryMap&& other) noexcept {
        if (this != &other) {
            reset();
            address_ = std::exchange(other.address_, nullptr);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }
    ~MemoryMap() { reset(); }
    /// Zeros of its own, of which pages that are never touched cost nothing. Empty if there is no room for them.
    static MemoryMap reserve(std::size_t size) noexcept {
        void* const memory =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return {};
        for (OwnRange& range : own_ranges) {
            std::uintptr_t free = 0;
            if (!range.begin.compare_exchange_strong(free, reinterpret_cast<std::uintptr_t>(memory))) continue;
            range.size = size;
            break;
        }
        return {memory, size};
    }

    explicit operator bool() const noexcept { return address_ != nullptr; }
    std::byte* data() const noexcept { return static_cast<std::byte*>(address_); }
    std::size_t size() const noexcept { return size_; }
    std::span<std::byte> bytes() const noexcept { return {data(), size_}; }
    void reset() noexcept {
        if (address_ == nullptr) return;
        for (OwnRange& range : own_ranges) {
            if (range.begin != reinterpret_cast<std::uintptr_t>(address_)) continue;
            range.size = 0;
            range.begin = 0;
        }
        ::munmap(std::exchange(address_, nullptr), std::exchange(size_, 0));
    }

private:
    void* address_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace flameprobe

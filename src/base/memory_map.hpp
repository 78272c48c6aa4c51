#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <utility>

namespace flameprobe {

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
        return memory == MAP_FAILED ? MemoryMap() : MemoryMap(memory, size);
    }

    explicit operator bool() const noexcept { return address_ != nullptr; }
    std::byte* data() const noexcept { return static_cast<std::byte*>(address_); }
    std::size_t size() const noexcept { return size_; }
    std::span<std::byte> bytes() const noexcept { return {data(), size_}; }
    void reset() noexcept {
        if (address_ != nullptr) ::munmap(std::exchange(address_, nullptr), std::exchange(size_, 0));
    }

private:
    void* address_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace flameprobe

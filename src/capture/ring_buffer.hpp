// The reading side of one perf ring (perf_event_open(2), "MMAP layout").
#pragma once

#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/memory_map.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// One reader thread. The kernel writes data_head with a release store that pairs with our acquire load; our release
/// store of data_tail pairs with the kernel's control dependency before it overwrites (kernel/events/ring_buffer.c).
class RingBuffer {
public:
    /// Without memory, and so without records.
    RingBuffer() = default;
    /// Maps the ring of `descriptor` with `bytes` of data (a power of two pages), halving down to `least` while the
    /// memory lock budget refuses.
    static Result<RingBuffer> map(int descriptor, std::size_t bytes, std::size_t least) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        for (;; bytes /= 2) {
            void* address = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
            if (address != MAP_FAILED) return RingBuffer(MemoryMap(address, page + bytes), bytes - 1);
            if (bytes / 2 < least || (errno != EPERM && errno != ENOMEM)) break;
        }
        if (errno == EPERM) {
            return Error{
                "no locked memory is left for perf's buffers: raise kernel.perf_event_mlock_kb or `ulimit -l`"};
        }
        return Error{"perf's buffer cannot be mapped: " + error_text(errno)};
    }

    std::size_t bytes() const { return map_.size(); }
    std::size_t data_bytes() const { return map_ ? mask_ + 1 : 0; }

    /// Of many rings each one's head is in a page of its own, cold: to be called some rings before begin_round().
    void approach() const {
        if (map_) __builtin_prefetch(&control()->data_head);
    }
    /// Fixes how far this round reads: what the kernel writes from now on waits for the next round.
    void begin_round() { head_ = written(); }
    /// The next whole record of this round, header first; empty when the round is over. Valid until `consume()`.
    std::span<const std::byte> peek() {
        if (tail_ == head_) return {};
        const std::size_t at = tail_ & mask_;
        current_ = header_at(tail_).size;
        if (current_ < sizeof(perf_event_header) ||
            current_ > head_ - tail_) {  // never seen; skipping all is better than looping
            current_ = 0;
            tail_ = head_;
            return {};
        }
        if (at + current_ <= data_bytes()) return {data() + at, current_};
        straightened_.resize(current_);
        const std::size_t first = data_bytes() - at;
        std::memcpy(straightened_.data(), data() + at, first);
        std::memcpy(straightened_.data() + first, data(), current_ - first);
        return straightened_;
    }
    /// Gives the record's room back to the kernel.
    void consume() {
        tail_ += current_;
        current_ = 0;
        __atomic_store_n(&control()->data_tail, tail_, __ATOMIC_RELEASE);
    }
    /// Whether there is a record of a type for which `wanted` gives true. Consumes nothing.
    template <class Wanted>
    bool holds(Wanted wanted) const {
        for (std::uint64_t at = tail_, head = written(); at < head;) {
            const perf_event_header header = header_at(at);
            if (header.size < sizeof header || wanted(header.type)) return true;
            at += header.size;
        }
        return false;
    }

private:
    RingBuffer(MemoryMap map, std::size_t mask) : map_(std::move(map)), mask_(mask) {}
    perf_event_mmap_page* control() const { return reinterpret_cast<perf_event_mmap_page*>(map_.data()); }
    const std::byte* data() const { return map_.data() + (map_.size() - data_bytes()); }
    std::uint64_t written() const { return map_ ? __atomic_load_n(&control()->data_head, __ATOMIC_ACQUIRE) : 0; }
    // A header never wraps: records are aligned to 8 bytes, its size.
    perf_event_header header_at(std::uint64_t position) const {
        perf_event_header header;
        std::memcpy(&header, data() + (position & mask_), sizeof header);
        return header;
    }

    MemoryMap map_;
    std::size_t mask_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t head_ = 0;
    std::size_t current_ = 0;              // size of the record that peek() gave
    std::vector<std::byte> straightened_;  // a record that wraps around the ring's end
};

}  // namespace flameprobe

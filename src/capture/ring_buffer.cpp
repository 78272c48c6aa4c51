#include "capture/ring_buffer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace flameprobe {

Result<RingBuffer> RingBuffer::map(int descriptor, std::size_t bytes, std::size_t least) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    for (;; bytes /= 2) {
        void* address = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (address != MAP_FAILED) return RingBuffer(MemoryMap(address, page + bytes), bytes - 1);
        if (bytes / 2 < least || (errno != EPERM && errno != ENOMEM)) break;
    }
    if (errno == EPERM) {
        return Error{"no locked memory is left for perf's buffers: raise kernel.perf_event_mlock_kb or `ulimit -l`"};
    }
    return Error{std::string("perf's buffer cannot be mapped: ") + std::strerror(errno)};
}

const std::byte* RingBuffer::data() const { return map_.data() + (map_.size() - data_bytes()); }

// A header never wraps: records are aligned to 8 bytes, its size.
perf_event_header RingBuffer::header_at(std::uint64_t position) const {
    perf_event_header header;
    std::memcpy(&header, data() + (position & mask_), sizeof header);
    return header;
}

std::uint64_t RingBuffer::written() const {
    return map_ ? __atomic_load_n(&control()->data_head, __ATOMIC_ACQUIRE) : 0;
}

void RingBuffer::begin_round() { head_ = written(); }

std::span<const std::byte> RingBuffer::peek() {
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

void RingBuffer::consume() {
    tail_ += current_;
    current_ = 0;
    __atomic_store_n(&control()->data_tail, tail_, __ATOMIC_RELEASE);
}

}  // namespace flameprobe

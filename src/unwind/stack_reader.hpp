// Words of one thread's stack: from the copy, and past it from StackBeyond in pieces.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "unwind/unwinder.hpp"

namespace flameprobe {

/// One thread only; keeps its buffer between walks.
class StackReader {
public:
    static constexpr std::size_t piece_size = std::size_t{64} << 10;

    void start(StackCopy copy, StackBeyond* beyond) {
        bytes_ = copy.bytes.data();
        address_ = copy.address;
        limit_ = copy.bytes.size() < 8 ? 0 : copy.bytes.size() - 7;
        end_ = copy.address + copy.bytes.size();
        beyond_ = beyond;
        beyond_end_ = 0;
        piece_.clear();
        ahead_ = 0;
        approach(address_);
    }
    /// Prefetches the copy from `address` up. It comes straight from the kernel's ring, cold, and each frame's place is
    /// known only when the one below it has been read: without this every frame waits for memory (some 300 ns instead
    /// of 20).
    void approach(std::uint64_t address) {
        const std::uint64_t offset = address - address_;
        if (offset + margin <= ahead_ || offset >= limit_) return;
        std::uint64_t line = std::max(offset, ahead_);
        ahead_ = std::min(offset + distance, limit_ + margin);
        for (; line < ahead_ && line < limit_; line += 64) __builtin_prefetch(bytes_ + line);
    }
    bool word(std::uint64_t address, std::uint64_t& out) {
        const std::uint64_t offset = address - address_;
        if (offset < limit_) {
            std::memcpy(&out, bytes_ + offset, sizeof out);
            return true;
        }
        return beyond_ != nullptr && word_beyond(address, out);
    }
    bool holds(std::uint64_t address) const { return address - address_ < limit_; }
    /// Whether any word so far came from StackBeyond, and the end of the highest one (0 if none).
    std::uint64_t beyond_end() const { return beyond_end_; }
    std::size_t memory() const { return piece_.capacity(); }

private:
    static constexpr std::uint64_t distance = 4096, margin = 1024;
    [[gnu::noinline]] bool word_beyond(std::uint64_t address, std::uint64_t& out) {
        std::uint64_t offset = address - piece_address_;
        if (piece_.size() < 8 || offset > piece_.size() - 8) {
            // A frame's return address is read before the slots below it: begin a little lower, but never inside the
            // copy, whose bytes are those of the sample's time.
            std::uint64_t from = address - std::min<std::uint64_t>(address, 256);
            if (address >= end_) from = std::max(from, end_);
            piece_.resize(piece_size);
            piece_address_ = from;
            piece_.resize(std::min(beyond_->read(from, piece_), piece_size));
            offset = address - from;
            if (piece_.size() < 8 || offset > piece_.size() - 8) return false;
        }
        std::memcpy(&out, piece_.data() + offset, sizeof out);
        beyond_end_ = std::max(beyond_end_, address + 8);
        return true;
    }

    const std::byte* bytes_ = nullptr;
    std::uint64_t address_ = 0;
    std::uint64_t limit_ = 0;  // offsets below it hold a whole word
    std::uint64_t end_ = 0;
    std::uint64_t ahead_ = 0;  // bytes of the copy that were prefetched
    StackBeyond* beyond_ = nullptr;
    std::uint64_t beyond_end_ = 0;
    std::uint64_t piece_address_ = 0;
    std::vector<std::byte> piece_;
};

}  // namespace flameprobe

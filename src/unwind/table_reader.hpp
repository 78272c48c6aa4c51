// Words of mapped tables, read safely and kept for a while: libunwind asks for them one by one, a system call each.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/self_memory.hpp"

namespace flameprobe {

/// One thread only.
class TableReader {
public:
    bool word(std::uint64_t address, std::uint64_t& out) {
        if (address % block_size > block_size - sizeof out)
            return read_self(address, std::as_writable_bytes(std::span(&out, 1))) == sizeof out;
        const std::uint64_t start = address - address % block_size;
        Block& block = blocks_[start / block_size % blocks_.size()];
        if (block.address != start) {
            block.address = read_self(start, block.bytes) == block_size ? start : 0;
            if (block.address == 0) return false;
        }
        std::memcpy(&out, block.bytes.data() + address % block_size, sizeof out);
        return true;
    }
    /// What was read may have been unmapped since.
    void forget() {
        for (Block& block : blocks_) block.address = 0;
    }

private:
    static constexpr std::uint64_t block_size = 256;
    struct Block {
        std::uint64_t address = 0;
        std::array<std::byte, block_size> bytes;
    };
    std::vector<Block> blocks_ = std::vector<Block>(128);
};

}  // namespace flameprobe

// One checksummed block of a `.fprobe`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "profile/format.hpp"

namespace flameprobe {

struct BlockHeader {
    std::uint32_t type = 0;
    std::uint32_t size = 0;  // of the payload
    std::uint32_t checksum = 0;
};

using BlockHeaderBytes = std::array<char, format::block_header_size>;

/// The header that belongs in front of `payload`.
BlockHeaderBytes make_block_header(format::BlockType type, std::string_view payload);
BlockHeader parse_block_header(const BlockHeaderBytes& bytes);
bool checksum_matches(const BlockHeader& header, std::string_view payload);

}  // namespace flameprobe

#include "profile/format.hpp"

#include <zlib.h>

#include <bit>
#include <cstddef>

namespace flameprobe {

namespace {

static_assert(std::endian::native == std::endian::little && sizeof(BlockHeader) == format::block_header_size);

std::uint32_t checksum(const BlockHeader& header, std::string_view payload) {
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(&header), offsetof(BlockHeader, checksum));
    if (payload.empty()) return static_cast<std::uint32_t>(crc);  // crc32_z takes no null pointer
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(payload.data()), payload.size());
    return static_cast<std::uint32_t>(crc);
}

}  // namespace

BlockHeaderBytes make_block_header(format::BlockType type, std::string_view payload) {
    BlockHeader header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(payload.size())};
    header.checksum = checksum(header, payload);
    return std::bit_cast<BlockHeaderBytes>(header);
}

BlockHeader parse_block_header(const BlockHeaderBytes& bytes) { return std::bit_cast<BlockHeader>(bytes); }

bool checksum_matches(const BlockHeader& header, std::string_view payload) {
    return checksum(header, payload) == header.checksum;
}

}  // namespace flameprobe

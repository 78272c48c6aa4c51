#include "profile/format.hpp"

#include <zlib.h>

namespace flameprobe {

namespace {

void put_u32(char* out, std::uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (8 * i));
}

std::uint32_t get_u32(const char* in) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= std::uint32_t{static_cast<unsigned char>(in[i])} << (8 * i);
    return value;
}

std::uint32_t checksum(const char* type_and_size, std::string_view payload) {
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(type_and_size), 8);
    if (payload.empty()) return static_cast<std::uint32_t>(crc);  // crc32_z takes no null pointer
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(payload.data()), payload.size());
    return static_cast<std::uint32_t>(crc);
}

}  // namespace

BlockHeaderBytes make_block_header(format::BlockType type, std::string_view payload) {
    BlockHeaderBytes bytes;
    put_u32(bytes.data(), static_cast<std::uint32_t>(type));
    put_u32(bytes.data() + 4, static_cast<std::uint32_t>(payload.size()));
    put_u32(bytes.data() + 8, checksum(bytes.data(), payload));
    return bytes;
}

BlockHeader parse_block_header(const BlockHeaderBytes& bytes) {
    return {get_u32(bytes.data()), get_u32(bytes.data() + 4), get_u32(bytes.data() + 8)};
}

bool checksum_matches(const BlockHeader& header, std::string_view payload) {
    char type_and_size[8];
    put_u32(type_and_size, header.type);
    put_u32(type_and_size + 4, header.size);
    return checksum(type_and_size, payload) == header.checksum;
}

}  // namespace flameprobe

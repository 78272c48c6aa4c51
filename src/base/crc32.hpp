// The checksum CRC-32 (ISO 3309; RFC 1952, section 8), as zlib's and that of .gnu_debuglink.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace flameprobe {

namespace crc32_tables {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// By byte, and how many bytes come after it: eight bytes are taken at once.
inline constexpr Tables by_byte = [] {
    constexpr std::uint32_t polynomial = 0xedb88320;
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
        tables[0][byte] = sum;
    }
    for (std::size_t after = 1; after < tables.size(); ++after)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[after - 1][byte];
            tables[after][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    return tables;
}();

}  // namespace crc32_tables

/// Of bytes whose checksum so far is `sum`, 0 for none, and those behind them.
inline std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t sum = 0) {
    const auto& tables = crc32_tables::by_byte;
    std::uint32_t state = ~sum;
    const std::byte* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::uint64_t eight;
        std::memcpy(&eight, at, sizeof eight);
        eight ^= state;
        state = 0;
        for (std::size_t byte = 0; byte < 8; ++byte) state ^= tables[7 - byte][eight >> (8 * byte) & 0xff];
    }
    for (; left != 0; ++at, --left)
        state = (state >> 8) ^ tables[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
    return ~state;
}

}  // namespace flameprobe

// The numbers of the `.fprobe` format, and its checksummed blocks. docs/formats.md is the specification; both change
// together.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/crc32.hpp"

namespace flameprobe::format {

inline constexpr std::uint8_t version = 2;
/// Six letters, 0x1a (ends `type` and `cat` on some systems, and shows a text-mode transfer), the version.
inline constexpr std::string_view magic{"FPROBE\x1a\x02", 8};

/// A block: u32 type, u32 payload size, u32 CRC-32 of these eight bytes and the payload; all little-endian.
inline constexpr std::size_t block_header_size = 12;
/// No writer makes a larger one, so a reader need not believe a larger one.
inline constexpr std::uint32_t max_block_payload = 16u << 20;
/// A block is closed when it passes this, so that a buffer that could not be written for long still gives small blocks.
inline constexpr std::uint32_t full_block_payload = 1u << 20;

/// Readers skip types they do not know. `process` is empty: the blocks after it are the profile of another process of
/// the run, with tables of its own, as in a file that begins there.
enum class BlockType : std::uint32_t { records = 1, process = 2 };

/// A record starts with a varint: the low three bits say what it is, the rest is its first number.
enum class RecordKey : std::uint8_t {
    sample = 0,           // thread; then zigzag(time - time of the sample before), stack
    child_stack = 1,      // location; its parent is the stack defined before it
    stack = 2,            // location; then parent
    location = 3,         // mapping; then zigzag(address - address of the mapping's location before, or its start)
    weighted_sample = 4,  // as sample; then weight
    extended = 5,         // ExtendedKind; then size of the rest in bytes, and that many bytes
};
inline constexpr unsigned key_bits = 3;

/// Readers skip kinds they do not know, and bytes at the end of a record that they do not know.
enum class ExtendedKind : std::uint64_t {
    run = 1,
    string = 2,
    mapping = 3,
    thread = 4,
    summary = 5,
    symbols = 6,
    death = 7,
    hits = 8,           // of the next sample, where they are not 1
    count = 9,          // units of work that the program has counted
    event = 10,         // another than the run's own
    event_sample = 11,  // of such an event
    requests = 12,      // how long those of a label took
    passing = 13,       // of one request
};

/// Bounds what a reader keeps for each event.
inline constexpr std::uint32_t max_events = 64;

/// More than any compiler's inlining makes; bounds what a hostile file can make of one address.
inline constexpr std::size_t max_symbols_per_location = 256;

}  // namespace flameprobe::format

namespace flameprobe {

struct BlockHeader {
    std::uint32_t type = 0;
    std::uint32_t size = 0;  // of the payload
    std::uint32_t checksum = 0;
};

using BlockHeaderBytes = std::array<char, format::block_header_size>;

static_assert(std::endian::native == std::endian::little && sizeof(BlockHeader) == format::block_header_size);

inline std::uint32_t checksum_of(const BlockHeader& header, std::string_view payload) {
    const std::uint32_t sum = crc32_of(std::as_bytes(std::span(&header, 1)).first(offsetof(BlockHeader, checksum)));
    return crc32_of(std::as_bytes(std::span(payload)), sum);
}

/// The header that belongs in front of `payload`.
inline BlockHeaderBytes make_block_header(format::BlockType type, std::string_view payload) {
    BlockHeader header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(payload.size())};
    header.checksum = checksum_of(header, payload);
    return std::bit_cast<BlockHeaderBytes>(header);
}
inline BlockHeader parse_block_header(const BlockHeaderBytes& bytes) { return std::bit_cast<BlockHeader>(bytes); }
inline bool checksum_matches(const BlockHeader& header, std::string_view payload) {
    return checksum_of(header, payload) == header.checksum;
}

}  // namespace flameprobe

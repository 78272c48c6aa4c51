#include "base/crc32.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string_view>
#include <vector>

using namespace flameprobe;

namespace {

std::uint32_t of(std::string_view text, std::uint32_t sum = 0) { return crc32_of(std::as_bytes(std::span(text)), sum); }

/// Bit by bit, as the checksum is defined.
std::uint32_t slowly(std::span<const std::byte> bytes) {
    std::uint32_t sum = ~0U;
    for (const std::byte byte : bytes) {
        sum ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320U : 0);
    }
    return ~sum;
}

}  // namespace

TEST_CASE("the checksum of the standard's nine digits") { CHECK(of("123456789") == 0xcbf43926); }

TEST_CASE("of any number of bytes at any place, at once and in parts") {
    std::vector<std::byte> bytes(100);
    std::minstd_rand random(1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (std::size_t from = 0; from < 9; ++from)
        for (std::size_t size = 0; from + size <= bytes.size(); ++size) {
            const auto part = std::span(bytes).subspan(from, size);
            REQUIRE(crc32_of(part) == slowly(part));
            REQUIRE(crc32_of(part.subspan(size / 3), crc32_of(part.first(size / 3))) == slowly(part));
        }
}

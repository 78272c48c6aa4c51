// Variable-length integers: LEB128, as in DWARF (section 7.6) and protobuf. Seven bits a byte, least significant first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flameprobe {

inline void put_varint(std::string& out, std::uint64_t value) {
    while (value >= 0x80) {
        out.push_back(static_cast<char>(value | 0x80));
        value >>= 7;
    }
    out.push_back(static_cast<char>(value));
}

/// Maps small negative numbers to small positive ones, so that differences stay short.
constexpr std::uint64_t zigzag(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline void put_string(std::string& out, std::string_view text) {
    put_varint(out, text.size());
    out.append(text);
}

}  // namespace flameprobe

// Bytes and numbers as text.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flameprobe {

/// Two digits a byte, as build ids are written.
inline std::string hex_text(std::string_view bytes, std::string_view digits = "0123456789abcdef") {
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

/// 0x1a2b40, as addresses are written.
inline std::string hex_number(std::uint64_t number) {
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr);
}

/// RFC 4648, with padding.
inline std::string base64(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto byte = [&](std::size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
        const unsigned bits = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
        text += digits[bits >> 18];
        text += digits[bits >> 12 & 63];
        text += at + 1 < bytes.size() ? digits[bits >> 6 & 63] : '=';
        text += at + 2 < bytes.size() ? digits[bits & 63] : '=';
    }
    return text;
}

}  // namespace flameprobe

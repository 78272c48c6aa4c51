// Bytes and numbers as text.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace flameprobe {

inline constexpr std::string_view upper_case_digits = "0123456789ABCDEF";

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

/// "a b" is "a%20b" (RFC 3986). Letters, digits and what is in `kept` stay.
inline std::string percent_encoded(std::string_view text, std::string_view kept = "-._~") {
    std::string encoded;
    for (; !text.empty(); text.remove_prefix(1)) {
        const char c = text.front();
        const bool stays =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kept.find(c) != kept.npos;
        encoded += stays ? std::string(1, c) : "%" + hex_text(text.substr(0, 1), upper_case_digits);
    }
    return encoded;
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

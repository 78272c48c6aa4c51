#pragma once

#include <string>
#include <string_view>

namespace flameprobe {

/// Two lower-case digits a byte, as build ids are written.
inline std::string hex_text(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
}

}  // namespace flameprobe

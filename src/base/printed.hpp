// What we print: the one place where text from profiles, files, hosts and servers goes to a terminal.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/paths.hpp"

namespace flameprobe {

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";  // U+FFFD

struct CodePoint {
    char32_t value = 0xfffd;
    std::size_t size = 1;  // bytes, 1 to 4
    bool is_valid = false;
};

/// The first code point of `text`, which is not empty; U+FFFD, and not valid, for a byte that begins no well-formed
/// one. Overlong forms, surrogates and values over U+10FFFF are not well-formed (RFC 3629, section 4).
constexpr CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return {first, 1, true};
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
    char32_t value = first & (0x7fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        value = (value << 6) | (byte(i) & 0x3f);
    }
    const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
    const bool outside = (value >= 0xd800 && value < 0xe000) || value > 0x10ffff;
    if (overlong || outside) return {};
    return {value, size, true};
}

/// Whether a line may show a character: not one that a terminal or an editor obeys, nor one that is none.
constexpr bool is_shown(char32_t c) {
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
    if ((c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)) return false;
    if (c == 0x2028 || c == 0x2029) return false;
    return (c & 0xFFFE) != 0xFFFE && !(c >= 0xFDD0 && c <= 0xFDEF);
}

/// `text` as one line that a terminal shows and does not obey: a tab or line break becomes a space; other control
/// characters, the controls that reorder text (U+202A..202E, U+2066..2069), noncharacters and bytes that are no UTF-8
/// become U+FFFD.
inline std::string clean_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const CodePoint c = first_code_point(text);
        const bool is_blank = c.value == '\t' || c.value == '\n' || c.value == '\r';
        const bool stays = c.is_valid && is_shown(c.value);
        out += is_blank ? " " : stays ? text.substr(0, c.size) : replacement_character;
        text.remove_prefix(c.size);
    }
    return out;
}

/// Prints text of several lines, each as clean_text() has it. False if it could not be written.
inline bool print_text(std::FILE* to, std::string_view text) {
    std::string out;
    for (const std::string_view line : parts_of_list(text, '\n')) out += clean_text(line) + '\n';
    out.pop_back();
    return std::fwrite(out.data(), 1, out.size(), to) == out.size() && std::fflush(to) == 0;
}

/// Prints one line, "flameprobe run: MESSAGE", to stderr.
inline void print_message(std::string_view who, std::string_view message) {
    print_text(stderr, std::string(who) + ": " + clean_text(message) + "\n");
}

}  // namespace flameprobe

// What we print: the one place where text from profiles, files, hosts and servers goes to a terminal.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace flameprobe {

inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";  // U+FFFD

struct CodePoint {
    char32_t value = 0;
    std::size_t size = 0;  // bytes, 1 to 4; 0 if the text does not start with well-formed UTF-8
};

/// The first code point of `text`, which is not empty. Overlong forms, surrogates and values over U+10FFFF are not
/// well-formed (RFC 3629, section 4).
constexpr CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return {first, 1};
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
    return {value, size};
}

/// Whether a line may show a character: not one that a terminal or an editor obeys, nor one that is none.
bool is_shown(char32_t c);

/// `text` as one line that a terminal shows and does not obey: a tab or line break becomes a space; other control
/// characters, the controls that reorder text (U+202A..202E, U+2066..2069), noncharacters and bytes that are no UTF-8
/// become U+FFFD.
std::string clean_text(std::string_view text);

/// Prints text of several lines, each as clean_text() has it. False if it could not be written.
bool print_text(std::FILE* to, std::string_view text);

/// Prints one line, "flameprobe run: MESSAGE", to stderr.
void print_message(std::string_view who, std::string_view message);

}  // namespace flameprobe

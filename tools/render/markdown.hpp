// Text in Markdown that is no markup.
#pragma once

#include <string>
#include <string_view>

namespace flameprobe {

/// Escapes what is markup in tables, links and emphasis, and the letters in `also`.
inline std::string markdown_escaped(std::string_view text, std::string_view also) {
    std::string out;
    for (const char letter : text) {
        if (std::string_view("\\*_<[]|").find(letter) != text.npos || also.find(letter) != also.npos) out += '\\';
        out += letter;
    }
    return out;
}

}  // namespace flameprobe

#pragma once

#include <string>

#include "render/text.hpp"

namespace flameprobe {

/// The text, right-aligned in a column of a table.
inline std::string right_aligned(const std::string& text, std::size_t width) {
    const std::size_t used = columns(text);
    return std::string(width > used ? width - used : 0, ' ') + text;
}

}  // namespace flameprobe

#pragma once

#include <string>

namespace flameprobe {

/// The text, right-aligned in a column of a table.
inline std::string right_aligned(const std::string& text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace flameprobe

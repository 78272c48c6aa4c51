// Code bytes beside a pattern.
#pragma once

#include <cstddef>
#include <string_view>

namespace flameprobe {

/// Whether code begins with the pattern, in which '?' is any byte.
inline bool matches(std::string_view code, std::string_view pattern) {
    if (code.size() < pattern.size()) return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] != '?' && pattern[i] != code[i]) return false;
    return true;
}

}  // namespace flameprobe

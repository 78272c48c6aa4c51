// Names for code without a known name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/binary_text.hpp"
#include "base/paths.hpp"

namespace flameprobe {

inline constexpr std::string_view unknown_prefix = "[unknown in ";

/// `[unknown in libfoo.so]`
inline std::string unknown_in(std::string_view path) {
    return std::string(unknown_prefix).append(base_name(path)).append("]");
}

/// `[unknown in libfoo.so (replaced)]`: another file lies at its path now.
inline std::string unknown_in_replaced(std::string_view path) {
    return std::string(unknown_prefix).append(base_name(path)).append(" (replaced)]");
}

/// `[libfoo.so+0x1a2b40]`: the function that starts at this virtual address of the file, independent of where the file
/// is loaded.
inline std::string function_at(std::string_view path, std::uint64_t start) {
    return std::string("[").append(base_name(path)).append("+" + hex_number(start) + "]");
}

/// Code that was made at run time and that nothing names: one frame, not one for each address.
inline constexpr std::string_view nameless_jit_code = "[JIT code]";

/// Whether a name says no more than where code is that nothing names.
inline bool is_nameless(std::string_view name) { return name.starts_with(unknown_prefix) || name == nameless_jit_code; }

/// Whether a name is one of these forms.
inline bool is_stand_in(std::string_view name) {
    if (is_nameless(name)) return true;
    return name.starts_with('[') && name.ends_with(']') && name.find("+0x") != name.npos;
}

}  // namespace flameprobe

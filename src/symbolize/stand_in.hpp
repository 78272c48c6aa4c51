// Names for code without a known name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flameprobe {

/// `[unknown in libfoo.so]`
std::string unknown_in(std::string_view path);
/// `[libfoo.so+0x1a2b40]`: the function that starts at this virtual address of the file, independent of where the file
/// is loaded.
std::string function_at(std::string_view path, std::uint64_t start);
/// Whether a name is one of these two forms for the file at `path`.
bool is_stand_in(std::string_view name, std::string_view path);

}  // namespace flameprobe

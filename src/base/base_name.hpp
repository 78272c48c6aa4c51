#pragma once

#include <string_view>

namespace flameprobe {

/// The part of a path after its last '/': all of it if there is none, empty if it ends in one.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// By its name, such as ld-linux-x86-64.so.2: `ld.so ./program` runs a program that is not the one executed.
inline bool is_dynamic_linker(std::string_view path) {
    const std::string_view name = base_name(path);
    return name == "ld.so" || name.starts_with("ld-linux");
}

}  // namespace flameprobe

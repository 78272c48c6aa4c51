#pragma once

#include <string_view>

namespace flameprobe {

/// The part of a path after its last '/': all of it if there is none, empty if it ends in one.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Without what the kernel puts behind the path of a file that is no more (proc(5), maps and exe).
constexpr std::string_view without_deleted(std::string_view path) {
    constexpr std::string_view deleted = " (deleted)";
    return path.ends_with(deleted) ? path.substr(0, path.size() - deleted.size()) : path;
}

/// By its name, such as ld-linux-x86-64.so.2: `ld.so ./program` runs a program that is not the one executed.
inline bool is_dynamic_linker(std::string_view path) {
    const std::string_view name = base_name(path);
    return name == "ld.so" || name.starts_with("ld-linux");
}

}  // namespace flameprobe

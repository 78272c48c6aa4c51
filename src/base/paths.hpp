// What paths are made of, and lists of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// The part of a path after its last '/': all of it if there is none, empty if it ends in one.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// The rest, with that '/'; empty if there is none.
constexpr std::string_view directory_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

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

/// What stands between the separators of a list; an empty list has one part, which is empty.
inline std::vector<std::string_view> parts_of_list(std::string_view list, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = list.find(separator);
        parts.push_back(list.substr(0, end));
        if (end == list.npos) return parts;
        list.remove_prefix(end + 1);
    }
}

/// The directories of a list such as PATH, without the empty ones; those that are relative lie in `base`.
inline std::vector<std::string> directories_of_list(std::string_view list, const std::string& base) {
    std::vector<std::string> directories;
    for (const std::string_view name : parts_of_list(list, ':'))
        if (!name.empty()) directories.push_back((name.front() == '/' ? "" : base + "/") + std::string(name));
    return directories;
}

}  // namespace flameprobe

#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace flameprobe {

/// The directories of a list such as PATH, without the empty ones; those that are relative lie in `base`.
inline std::vector<std::string> directories_of_list(std::string_view list, const std::string& base) {
    std::vector<std::string> directories;
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find(':'));
        list.remove_prefix(std::min(name.size() + 1, list.size()));
        if (!name.empty()) directories.push_back((name.front() == '/' ? "" : base + "/") + std::string(name));
    }
    return directories;
}

}  // namespace flameprobe

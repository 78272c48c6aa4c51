// Where distributions put what they strip from programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/binary_text.hpp"

namespace flameprobe {

/// Below a directory such as /usr/lib/debug; `build_id`: raw bytes, two at least.
inline std::string debug_path_by_id(const std::string& directory, std::string_view build_id) {
    const std::string digits = hex_text(build_id);
    return directory + "/.build-id/" + digits.substr(0, 2) + "/" + digits.substr(2) + ".debug";
}

/// Of the file that the `.gnu_debuglink` of `path` names: beside that, in .debug beside it, below the directories.
/// Empty if the name is none.
inline std::vector<std::string> debug_paths_by_link(const std::string& path, const std::string& name,
                                                    const std::vector<std::string>& directories) {
    if (name.empty() || name.find('/') != name.npos) return {};
    const std::string beside = path.substr(0, path.rfind('/') + 1);
    std::vector<std::string> paths = {beside + name, beside + ".debug/" + name};
    for (const std::string& directory : directories) paths.push_back(directory + beside + name);
    std::erase(paths, path);
    return paths;
}

}  // namespace flameprobe

// Which files a profile's code came from, and which builds of them.
#pragma once

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Each build once: first the files of the profile's mappings, then those of the profiles that it was merged from.
inline std::vector<FileBuild> file_builds(const NamedProfile& profile) {
    std::vector<FileBuild> list;
    std::set<std::pair<std::string_view, std::string_view>> known;
    const auto add = [&](const std::string& path, const std::string& build_id) {
        if (known.emplace(path, build_id).second) list.push_back({path, build_id});
    };
    for (const Mapping& mapping : profile.mappings)
        if (mapping.kind == MappingKind::file) add(mapping.path, mapping.build_id);
    for (const FileBuild& file : profile.merged_files) add(file.path, file.build_id);
    return list;
}

}  // namespace flameprobe

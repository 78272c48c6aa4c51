#include "symbolize/file_builds.hpp"

#include <set>
#include <utility>

namespace flameprobe {

std::vector<FileBuild> file_builds(const NamedProfile& profile) {
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

#include "profiles.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "../commands.hpp"
#include "diff_load.hpp"
#include "measurement.hpp"

namespace flameprobe::compare {

namespace fs = std::filesystem;

bool is_of_profiles(const std::string& side) {
    std::error_code error;
    if (fs::is_directory(side, error)) {
        if (fs::exists(side + "/report.json", error)) return false;
        return std::ranges::any_of(fs::directory_iterator(side, error),
                                   [](const auto& entry) { return entry.path().extension() == ".fprobe"; });
    }
    if (fs::exists(side, error)) return !side.ends_with(".json") && !is_archive(side);
    return side.find(',') != side.npos || side.ends_with(".fprobe") || side.ends_with(".folded") || side == "-";
}

Result<Compared> compare_profiles(const Arguments& arguments) {
    auto loaded = load_diff_sides(arguments);
    if (!loaded) return loaded.error();
    auto& [sides, names] = *loaded;
    for (const DiffSide& side : sides)
        for (const std::string& warning : side.profile.warnings) complain(0, warning);
    auto diff = diff_sides(std::move(sides[0]), std::move(sides[1]), arguments.per);
    if (!diff) return diff.error();
    return Compared{{}, std::move(*diff), std::move(names)};
}

}  // namespace flameprobe::compare

// What the colours of a picture's boxes mean.
#include "render/legend.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "render/describe.hpp"

namespace flameprobe {

namespace {

/// Of the palette `module`: the modules with the most time of their own.
std::vector<LegendEntry> legend_of_modules(const NamedProfile& profile, const CallTree& tree,
                                           const std::vector<std::string>& classes) {
    std::map<std::string, std::pair<std::uint64_t, std::string>> modules;
    for (std::size_t at = 0; at < tree.boxes.size(); ++at) {
        const Box& box = tree.boxes[at];
        if (box.kind != BoxKind::function || classes[at].front() != 'm') continue;
        const std::string_view path = profile.strings.view(profile.functions[box.function].module);
        auto& [self, color] = modules[module_name(profile, path)];
        self += box.self;
        color = classes[at];
    }
    std::vector<std::pair<std::string, std::pair<std::uint64_t, std::string>>> busiest(modules.begin(), modules.end());
    std::stable_sort(busiest.begin(), busiest.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    if (busiest.size() > 6) busiest.resize(6);
    std::vector<LegendEntry> legend;
    for (const auto& [name, module] : busiest) legend.push_back({module.second, name.empty() ? "no file" : name});
    return legend;
}

}  // namespace

// Of the other palettes: the roles in the picture, each with the middle shade of its ramp.
std::vector<LegendEntry> legend_of(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                   const std::vector<Role>& roles, const std::vector<std::string>& classes) {
    std::vector<LegendEntry> legend =
        palette.by_module() ? legend_of_modules(profile, tree, classes) : std::vector<LegendEntry>{};
    std::map<Role, bool> present;
    bool inlined = false;
    for (const Box& box : tree.boxes) {
        if (box.kind != BoxKind::function) continue;
        const FrameKind kind = profile.functions[box.function].kind;
        const bool code = kind == FrameKind::user || kind == FrameKind::inlined;
        if (code && palette.by_module()) continue;
        present[roles[box.function]] = true;
        inlined = inlined || kind == FrameKind::inlined;
    }
    for (const auto& [role, yes] : present)
        legend.push_back({std::string{letter_of(role, false)} + "0", std::string{role_text(role)}});
    if (inlined) legend.push_back({"v0", "paler: inlined"});
    return legend;
}

}  // namespace flameprobe

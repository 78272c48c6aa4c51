// What the colours of a picture's boxes mean.
#pragma once

#include <string>
#include <vector>

#include "render/call_tree.hpp"
#include "render/palette.hpp"
#include "render/role.hpp"
#include "render/svg_page.hpp"

namespace flameprobe {

/// `roles`: of functions; `classes`: of boxes.
std::vector<LegendEntry> legend_of(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                   const std::vector<Role>& roles, const std::vector<std::string>& classes);

}  // namespace flameprobe

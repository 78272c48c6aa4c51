// The colours of a comparison: orange grew, blue shrank, grey is within noise.
#pragma once

#include <array>
#include <string_view>

#include "render/palette.hpp"

namespace flameprobe {

// Orange and blue differ for every kind of colour blindness; each step also differs in lightness. Text on them has a
// contrast of at least 5.3. The steps are factors: 4/3 and 2.
struct ChangeShade {
    std::string_view name;
    Shade shade;
    std::string_view meaning;
};
inline constexpr std::array change_shades = {
    ChangeShade{"m4", {"#4c9ad4", "#10629c"}, "gone"},
    ChangeShade{"m3", {"#72b3e3", "#17598a"}, "less than half"},
    ChangeShade{"m2", {"#a5cfee", "#1f4c6c"}, "less by a quarter"},
    ChangeShade{"m1", {"#d3e5f6", "#24394c"}, "less"},
    ChangeShade{"e0", {"#e3e0dc", "#45433f"}, "within noise"},
    ChangeShade{"p1", {"#fbe3c8", "#4d3620"}, "more"},
    ChangeShade{"p2", {"#f8c48e", "#6b4519"}, "more by a third"},
    ChangeShade{"p3", {"#f1a052", "#834f10"}, "more than twice"},
    ChangeShade{"p4", {"#e58421", "#93550a"}, "new"},
};

}  // namespace flameprobe

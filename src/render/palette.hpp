// Which colour a box gets. The hue says what a function is (see role.hpp), lightness whether it was inlined; a hash of
// the name shifts it a little, so a function has the same colour in every picture.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "render/call_tree.hpp"
#include "render/role.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// One colour for pages with a light and one for pages with a dark background, "#rrggbb". Dark text on the first and
/// light text on the second (assets::light_ink, dark_ink) has a contrast of at least 4.5 (WCAG 2.1, 1.4.3 AA).
struct Shade {
    std::string_view light;
    std::string_view dark;
};

struct NamedShade {
    std::string name;  // a class: a letter for the kind and a number for the shade
    Shade shade;
};

class Palette {
public:
    /// hot, cold, mono, module; an Error on anything else, which lists these.
    static Result<Palette> by_name(std::string_view name);

    std::string class_of(const NamedProfile& profile, FunctionId function, Role role) const;
    /// The class of boxes that are no function.
    static std::string plain_class() { return "g0"; }
    /// Every class there is, in a fixed order.
    std::vector<NamedShade> classes() const;
    bool by_module() const { return by_module_; }

private:
    struct Ramps;
    explicit Palette(const Ramps& ramps, bool by_module) : ramps_(&ramps), by_module_(by_module) {}

    const Ramps* ramps_;
    bool by_module_;
};

/// The colours of a comparison: orange grew, blue shrank, grey is within noise.
/// Orange and blue differ for every kind of colour blindness; each step also differs in lightness. Text on them has a
/// contrast of at least 5.3. The steps are factors: 4/3 and 2.
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

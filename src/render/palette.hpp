// Which colour a box gets. The hue says what a function is (see role.hpp), lightness whether it was inlined; a hash of
// the name shifts it a little, so a function has the same colour in every picture.
#pragma once

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

/// The letter of a role's classes.
char letter_of(Role role, bool inlined);

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

}  // namespace flameprobe

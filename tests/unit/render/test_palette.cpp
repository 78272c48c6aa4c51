#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "demo_profile.hpp"
#include "render/palette.hpp"

using namespace flameprobe;

namespace {

// Relative luminance and contrast ratio as WCAG 2.1 defines them.
double luminance(std::string_view color) {
    const auto channel = [&](std::size_t at) {
        const double value = static_cast<double>(std::stoul(std::string{color.substr(at, 2)}, nullptr, 16)) / 255;
        return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
double contrast(std::string_view a, std::string_view b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace

TEST_CASE("every label can be read on every colour, in light and in dark") {
    for (const char* name : {"hot", "cold", "mono", "module"}) {
        const auto palette = Palette::by_name(name);
        REQUIRE(palette);
        CHECK(palette->classes().size() > 8);
        for (const NamedShade& shade : palette->classes()) {
            CAPTURE(shade.name);
            CHECK(contrast(shade.shade.light, text_color.light) >= 4.5);
            CHECK(contrast(shade.shade.dark, text_color.dark) >= 4.5);
        }
    }
    CHECK(contrast("#000000", "#ffffff") == doctest::Approx(21));
}

TEST_CASE("an unknown palette is refused with the list of known ones") {
    const auto palette = Palette::by_name("ho<t");
    REQUIRE(!palette);
    CHECK(palette.error().message.find("hot, cold, mono, module") != std::string::npos);
}

TEST_CASE("kinds have colours of their own, names decide the shade") {
    const NamedProfile profile = test::demo_profile();
    for (const char* name : {"hot", "cold", "mono", "module"}) {
        const auto palette = Palette::by_name(name);
        for (FunctionId id = 0; id < profile.functions.size(); ++id) {
            const std::string color = palette->class_of(profile, id);
            const bool known =
                std::ranges::any_of(palette->classes(), [&](const NamedShade& shade) { return shade.name == color; });
            CHECK_MESSAGE(known, color);
            const FrameKind kind = profile.functions[id].kind;
            CHECK((color[0] == 'k') == (kind == FrameKind::kernel));
            CHECK((color[0] == 's') == (kind == FrameKind::scope));
            CHECK((color[0] == 't') == (kind == FrameKind::thread));
            if (!palette->by_module()) CHECK((color[0] == 'i') == (kind == FrameKind::inlined));
        }
    }
}

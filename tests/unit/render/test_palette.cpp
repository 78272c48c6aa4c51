#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "demo_profile.hpp"
#include "render/assets.hpp"
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

using Color = std::array<double, 3>;

/// Linear light, 0 to 1.
Color linear(std::string_view color) {
    Color out{};
    for (std::size_t i = 0; i < 3; ++i) {
        const double value =
            static_cast<double>(std::stoul(std::string{color.substr(1 + 2 * i, 2)}, nullptr, 16)) / 255;
        out[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    }
    return out;
}

using Matrix = std::array<Color, 3>;

Color times(const Matrix& matrix, const Color& color) {
    Color out{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) out[i] += matrix[i][j] * color[j];
        out[i] = std::max(out[i], 0.0);
    }
    return out;
}

/// Björn Ottosson's OKLab: equal distances look about equally different.
Color oklab(const Color& rgb) {
    const Color cone = times({{{0.4122214708, 0.5363325363, 0.0514459929},
                               {0.2119034982, 0.6806995451, 0.1073969566},
                               {0.0883024619, 0.2817188376, 0.6299787005}}},
                             rgb);
    const double l = std::cbrt(cone[0]), m = std::cbrt(cone[1]), s = std::cbrt(cone[2]);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

/// How far from grey; the eye sees less than 0.02 as grey.
double chroma(std::string_view color) {
    const Color lab = oklab(linear(color));
    return std::hypot(lab[1], lab[2]);
}

/// The colour of text that is not quite opaque.
std::string blended(std::string_view ink, std::string_view ground, std::string_view opacity) {
    const double part = std::stod(std::string{opacity});
    std::string color = "#";
    for (std::size_t at = 1; at < 7; at += 2) {
        const auto channel = [at](std::string_view of) {
            return std::stoi(std::string{of.substr(at, 2)}, nullptr, 16);
        };
        const auto value = static_cast<unsigned>(std::lround(channel(ink) * part + channel(ground) * (1 - part)));
        for (const unsigned digit : {value / 16, value % 16}) color += "0123456789abcdef"[digit];
    }
    return color;
}
void check_texts(const Shade& shade) {
    CHECK(contrast(shade.light, assets::light_ink) >= 4.5);
    CHECK(contrast(shade.dark, assets::dark_ink) >= 4.5);
    CHECK(contrast(shade.light, blended(assets::light_ink, shade.light, assets::light_share)) >= 4.5);
    CHECK(contrast(shade.dark, blended(assets::dark_ink, shade.dark, assets::dark_share)) >= 4.5);
}

}  // namespace

TEST_CASE("every name and every share can be read on every colour, in light and in dark") {
    for (const char* name : {"hot", "cold", "mono", "module"}) {
        const auto palette = Palette::by_name(name);
        REQUIRE(palette);
        CHECK(palette->classes().size() > 8);
        for (const NamedShade& shade : palette->classes()) {
            CAPTURE(shade.name);
            check_texts(shade.shade);
        }
    }
    for (const ChangeShade& shade : change_shades) {
        CAPTURE(shade.name);
        check_texts(shade.shade);
    }
    CHECK(contrast("#000000", "#ffffff") == doctest::Approx(21));
}

TEST_CASE("grey means not known, and nothing else") {
    CHECK(role_of_note("[kernel]") == Role::kernel);
    CHECK(role_of_note("[kernel: madvise]") == Role::kernel);
    CHECK(role_of_note("[kernel: page fault]") == Role::kernel);
    CHECK(role_of_note("futex") == Role::waiting);
    CHECK(role_of_note("[preempted]") == Role::preempted);
    CHECK(role_of_note("[held by worker-1]") == Role::held);
    CHECK(role_of_note("[deadlock]") == Role::held);
    CHECK(role_of_note("[its CPU sample nearest in time]") == Role::held);
    for (const char* unknown : {"[kernel, not permitted]", "[lost]", "[truncated]", "[not sampled]",
                                "[wait not sampled]", "[throttled]", "[note 9]"})
        CHECK(role_of_note(unknown) == Role::note);
    for (const NamedShade& shade : Palette::by_name("hot")->classes()) {
        CAPTURE(shade.name);
        const bool unknown = shade.name[0] == 'n' || shade.name[0] == 'g';
        for (const std::string_view color : {shade.shade.light, shade.shade.dark})
            CHECK((unknown ? chroma(color) < 0.01 : chroma(color) > 0.02));
    }
}

TEST_CASE("an unknown palette is refused with the list of known ones") {
    const auto palette = Palette::by_name("ho<t");
    REQUIRE(!palette);
    CHECK(palette.error().message.find("hot, cold, mono, module") != std::string::npos);
}

TEST_CASE("each role, and inlined code, has a class of colours of its own") {
    const NamedProfile profile = test::demo_profile();
    const std::vector<Role> roles = function_roles(profile);
    for (const char* name : {"hot", "cold", "mono", "module"}) {
        const auto palette = Palette::by_name(name);
        for (FunctionId id = 0; id < profile.functions.size(); ++id) {
            const std::string color = palette->class_of(profile, id, roles[id]);
            const bool known =
                std::ranges::any_of(palette->classes(), [&](const NamedShade& shade) { return shade.name == color; });
            CHECK_MESSAGE(known, color);
            const FrameKind kind = profile.functions[id].kind;
            const bool code = kind == FrameKind::user || kind == FrameKind::inlined;
            if (code && palette->by_module()) continue;
            const RoleLook& look = look_of(roles[id]);
            CHECK(color[0] == (kind == FrameKind::inlined ? look.inlined : look.letter));
        }
    }
}

namespace {

// Machado, Oliveira and Fernandes 2009, severity 1.
const std::pair<const char*, Matrix> eyes[] = {
    {"all cones", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia",
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}},
};

double difference(std::string_view a, std::string_view b, const Matrix& eye) {
    const Color x = oklab(times(eye, linear(a))), y = oklab(times(eye, linear(b)));
    return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

}  // namespace

TEST_CASE("own code differs in colour from the other roles, also for the colour-blind, in light and in dark") {
    std::map<std::string, Shade> shades;
    for (const NamedShade& shade : Palette::by_name("hot")->classes()) shades[shade.name] = shade.shade;
    for (const auto& pair : eyes) {
        const auto& matrix = pair.second;
        CAPTURE(pair.first);
        // Own code beside each other role, and beside its own inlined functions.
        for (const char* other : {"l0", "x0", "k0", "s0", "v0", "n0", "w0", "q0", "h0"}) {
            CAPTURE(other);
            CHECK(difference(shades["u0"].light, shades[other].light, matrix) > 0.05);
            CHECK(difference(shades["u0"].dark, shades[other].dark, matrix) > 0.05);
        }
        CHECK(difference(shades["l0"].light, shades["k0"].light, matrix) > 0.05);
        CHECK(difference(shades["l0"].light, shades["x0"].light, matrix) > 0.05);
    }
}

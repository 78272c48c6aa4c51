#include "render/palette.hpp"

#include <span>
#include <tuple>
#include <utility>

#include "base/paths.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

// Chosen in OKLCH. Hues that stay apart for the colour-blind (as Okabe and Ito's): orange, sky blue, bluish green,
// purple, yellow. Inlined code has the hue of its role, paler on light pages and darker on dark ones. The shades
// of one ramp differ by a few percent of lightness, which keeps neighbours apart.
using Ramp = std::array<Shade, 3>;
constexpr Ramp orange{{{"#f69b5a", "#824104"}, {"#ffa16d", "#90430e"}, {"#ea984b", "#764000"}}};
constexpr Ramp pale_orange{{{"#fecfa7", "#5b3815"}, {"#ffd7bd", "#643d1f"}, {"#f3c99d", "#54340b"}}};
constexpr Ramp sky{{{"#83c6f5", "#12557c"}, {"#84cff9", "#0e5e81"}, {"#83bdf0", "#174e78"}}};
constexpr Ramp pale_sky{{{"#c1e3fc", "#203e52"}, {"#c9ebff", "#244558"}, {"#bddbf7", "#1e384e"}}};
constexpr Ramp sand{{{"#d1c3a0", "#4e4734"}, {"#ddcaa8", "#574d3a"}, {"#c6be9a", "#47422f"}}};
constexpr Ramp pale_sand{{{"#e9e1cb", "#393426"}, {"#f2e6d2", "#3f382b"}, {"#e0dbc5", "#332f21"}}};
constexpr Ramp green{{{"#5cbe96", "#095b41"}, {"#6cc495", "#206242"}, {"#4bb798", "#025542"}}};
constexpr Ramp purple{{{"#c493e8", "#5b3177"}, {"#c49cf5", "#5d3a83"}, {"#c489db", "#5a296c"}}};
constexpr Ramp yellow{{{"#e5d67f", "#625922"}, {"#f3db84", "#6d5e29"}, {"#d6d27a", "#58551e"}}};
constexpr Ramp rose{{{"#e69dc6", "#6a3462"}, {"#f4a6c6", "#6d3369"}, {"#d795c5", "#6b2f5e"}}};
constexpr Ramp brick{{{"#eb8376", "#6e2826"}, {"#f48e73", "#773224"}, {"#e07879", "#641f27"}}};
constexpr Ramp indigo{{{"#9a9ce8", "#48468a"}, {"#ada2ef", "#584b90"}, {"#8f9ce3", "#3b4285"}}};
constexpr Ramp ash{{{"#a09e9c", "#5c5b58"}, {"#a7a5a2", "#63615f"}, {"#999795", "#565553"}}};
constexpr Ramp grey{{{"#c6c4c0", "#54524f"}, {"#d0cdc9", "#5d5a57"}, {"#bcbab6", "#4c4a47"}}};
constexpr Ramp pale_grey{{{"#e0deda", "#44423f"}, {"#eae7e3", "#4c4a47"}, {"#d9d7d3", "#3f3d3a"}}};
constexpr Ramp slate{{{"#9badc1", "#495a6b"}, {"#a4b6ca", "#526274"}, {"#95a7ba", "#445465"}}};
constexpr std::array<Shade, 12> wheel{{{"#fba99b", "#854137"},
                                       {"#fbbb87", "#875221"},
                                       {"#d3b86d", "#665001"},
                                       {"#bdd085", "#56641e"},
                                       {"#88ca95", "#215e32"},
                                       {"#79dfcb", "#056f61"},
                                       {"#66cfe1", "#04606d"},
                                       {"#86cdff", "#1b618a"},
                                       {"#a9beff", "#43548d"},
                                       {"#d3bdfe", "#69538e"},
                                       {"#dfa3d9", "#6f3d6b"},
                                       {"#fcaac3", "#86435a"}}};
constexpr Shade plain{"#e6e3de", "#3a3835"};

}  // namespace

struct Palette::Ramps {
    std::string_view name;
    Ramp own, own_inlined, library, library_inlined, glue, glue_inlined, kernel, scope, thread, note;
    Ramp waiting = rose, preempted = brick, held = indigo;
};

namespace {

constexpr std::string_view accepted = "hot, cold, mono, module";

}  // namespace

Result<Palette> Palette::by_name(std::string_view name) {
    static constexpr Ramps hot{"hot", orange, pale_orange, sky, pale_sky, sand, pale_sand, green, purple, yellow, ash};
    static constexpr Ramps cool{"cold",    sky,   pale_sky, orange, pale_orange, sand,
                                pale_sand, green, purple,   yellow, ash};
    static constexpr Ramps mono{"mono",    grey,  pale_grey, slate, pale_grey, pale_grey,
                                pale_grey, slate, slate,     slate, ash};
    static constexpr Ramps module{"module",  orange, pale_orange, sky,       pale_sky, sand,
                                  pale_sand, grey,   purple,      pale_grey, ash};
    for (const Ramps* ramps : {&hot, &cool, &mono, &module}) {
        if (ramps->name == name) return Palette(*ramps, ramps == &module);
    }
    return Error{"no palette is called '" + clean_text(name) + "': use one of " + std::string{accepted}};
}

std::string Palette::class_of(const NamedProfile& profile, FunctionId id, Role role) const {
    const Function& function = profile.functions[id];
    const bool code = function.kind == FrameKind::user || function.kind == FrameKind::inlined;
    if (by_module_ && code) {
        if (function.module == 0) return "n0";
        const std::string_view path = profile.strings.view(function.module);
        return "m" + std::to_string(stable_hash(base_name(path)) % wheel.size());
    }
    const std::uint64_t hash = stable_hash(profile.strings.view(function.name));
    const RoleLook& look = look_of(role);
    return (function.kind == FrameKind::inlined ? look.inlined : look.letter) +
           std::to_string((hash ^ hash >> 29) % std::tuple_size_v<Ramp>);
}

std::vector<NamedShade> Palette::classes() const {
    std::vector<NamedShade> all;
    const auto add = [&](char letter, std::span<const Shade> ramp) {
        for (std::size_t at = 0; at < ramp.size(); ++at) all.push_back({letter + std::to_string(at), ramp[at]});
    };
    if (by_module_) add('m', wheel);
    const Ramps& of = *ramps_;
    for (const auto& [letter, ramp] :
         {std::pair{'u', of.own}, std::pair{'v', of.own_inlined}, std::pair{'l', of.library},
          std::pair{'j', of.library_inlined}, std::pair{'x', of.glue}, std::pair{'y', of.glue_inlined},
          std::pair{'k', of.kernel}, std::pair{'s', of.scope}, std::pair{'t', of.thread}, std::pair{'n', of.note},
          std::pair{'w', of.waiting}, std::pair{'q', of.preempted}, std::pair{'h', of.held}}) {
        add(letter, ramp);
    }
    add('g', {&plain, 1});
    return all;
}

}  // namespace flameprobe

// The page around the frames: style, script, header and footer. Shared by all pictures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "outside/byte_stream.hpp"
#include "render/call_tree.hpp"
#include "render/palette.hpp"
#include "render/role.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

/// Sizes in the picture's own units, which are pixels if it is shown at its own width.
namespace svg {
inline constexpr unsigned margin = 12;    // at either side of the frames
inline constexpr unsigned row = 18;       // from row to row
inline constexpr unsigned row_fill = 17;  // the rest is the gap
inline constexpr unsigned baseline = 13;  // of a label in its row
inline constexpr double column = 7.3;     // of the labels' 12 px monospace font: the widest common one, rounded up
}  // namespace svg

struct LegendEntry {
    std::string color_class;
    std::string text;
};

/// What the colours of a picture's boxes mean. `roles`: of functions; `classes`: of boxes.
std::vector<LegendEntry> legend_of(const NamedProfile& profile, const CallTree& tree, const Palette& palette,
                                   const std::vector<Role>& roles, const std::vector<std::string>& classes);

struct SvgPage {
    std::uint64_t hash = 0;  // of the content; makes the id
    std::string title;
    std::string answer;  // empty: none
    std::string subtitle;
    std::vector<NamedShade> shades;
    std::vector<LegendEntry> legend;
    std::vector<Fact> facts;
    unsigned width = 1200;
    std::uint32_t rows = 0;
    std::string frames;  // markup
};

void write_svg_page(const SvgPage& page, const ByteSink& out);

}  // namespace flameprobe

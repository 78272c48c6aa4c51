// The words for a box, the same in the picture, its tooltips and the page.
#pragma once

#include <string>

#include "render/call_tree.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// "1 sample", "12,345 samples".
std::string samples_text(std::uint64_t hits);
/// What a weight is: "12.3 s", "4.5 MiB", "12 page-faults"; empty where it has no unit but samples.
std::string unit_text(const NamedProfile& profile, std::uint64_t weight);
/// For tables: time, bytes, or the number of samples or events alone.
std::string amount_text(const NamedProfile& profile, std::uint64_t weight);

/// The name of a file of code; of the program's, what the program is called (profile/model.hpp).
std::string module_name(const NamedProfile& profile, std::string_view path);

/// The whole name of a box, as clean text (see text.hpp).
std::string box_name(const NamedProfile& profile, const CallTree& tree, const Box& box);

struct TooltipOptions {
    bool self =
        true;  // whether to show a box's own samples; in a reversed graph they would be those of its outermost caller
    double min_width = 0.1;  // percent, as the tree was made
    bool brief = false;      // the short name and the first line only
};

/// The short name (see short_name.hpp) of a function; the same as box_name for other boxes.
std::string box_label(const NamedProfile& profile, const CallTree& tree, const Box& box);

/// Clean text: name, counts and shares, then kind, place and module; a line each.
std::string box_tooltip(const NamedProfile& profile, const CallTree& tree, const Box& box,
                        const TooltipOptions& options);

}  // namespace flameprobe

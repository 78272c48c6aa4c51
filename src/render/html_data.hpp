// What the HTML page holds of a profile.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "render/call_tree.hpp"
#include "render/flame_graph.hpp"
#include "render/palette.hpp"

namespace flameprobe {

struct PageTree {
    CallTree tree;
    BoxOfNode places;
    double min_width = 0;  // percent; 0: nothing had to be gathered
};

/// Every box there is; of profiles with more boxes than a browser should hold, those of at least some width. An Error
/// if there are no samples, or if even wide boxes are too many (stacks of a million frames).
Result<PageTree> build_page_tree(const NamedProfile& profile);

/// The profile as JSON in columns (assets/page/data.js reads it), deflated, in base64: whatever the names are, they
/// cannot end the element it stands in.
Result<std::string> page_data(const NamedProfile& profile, const PageTree& page, const Palette& palette,
                              const FlameGraphOptions& options);

struct BusyFunction {
    FunctionId function = 0;
    std::uint64_t self = 0;
    std::uint64_t total = 0;  // a recursion's time counts once
};

/// The functions with the most samples of their own, first; for readers without JavaScript.
std::vector<BusyFunction> busiest_functions(const NamedProfile& profile, const CallTree& tree, std::size_t most);

}  // namespace flameprobe

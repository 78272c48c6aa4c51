// What an HTML page is made of: its data, which are the functions and the stacks, every box, in columns of small
// numbers, and what stands beside them. No share or total is stored: the page adds up the counts, so the numbers of a
// selection are exact too.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "render/flame_graph.hpp"
#include "render/palette.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// The graph before the page's script has read the data: on paper, in a screenshot, and where no script runs.
struct Preview {
    std::string picture;  // an inline SVG element: boxes and labels without scripts and styles
    std::string legend;   // what its colours mean, for readers without scripts; empty where all are plain
};

/// `colored`: by role; else all are plain.
Result<Preview> preview_markup(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                               bool colored);

/// What the threads waited for (wait_reasons()); empty if that was not measured.
std::string wait_markup(const NamedProfile& profile);

/// Which locks were waited for, how long, and what their holders did; empty if no holder is known.
std::string lock_markup(const NamedProfile& profile);

/// The processes of a run: CPU time, samples and their share. Empty if there is one process.
std::string process_rows(const NamedProfile& profile);

/// Unsigned LEB128 numbers, one after the other.
///   up      of each box but the root, depth first and children by name: how many levels it is further towards the root
///           than the first child of the box before it
///   fn      of each box but the root: `number_of[function]`, or the numbers that stand for what is no function
///   row     of each box but the root, where any differs: the table's row that it belongs to, an index in the facts'
///           "rows" and 1; 0 is its own function's
///   box     of each count: its box's index less that of the count before
///   thread  of each count
///   weight  of each count
///   bin     of each count, where times are known (NamedProfile::bin_ns): its stretch of time
///   hits    of each count, where they differ from weights: samples, whatever they weigh
/// Of a comparison each count belongs to a side instead of a thread:
///   side    of each count: 0 before, 1 after
///   hits    is 0 there for CPU time that is known, but was not sampled
struct PageColumns {
    std::string bytes;
    std::vector<std::pair<std::string, std::size_t>> parts;  // in the order in which they stand in `bytes`
    std::uint64_t boxes = 0;                                 // with the root
    std::uint32_t depth = 0;
    double min_width = 0;  // percent; not 0: narrower boxes had to be gathered, there are too many
};

struct PageNumbers {
    std::vector<std::uint32_t> number_of;    // of each function that is shown (shown_functions())
    std::vector<std::uint32_t> row_of_node;  // as NodeRows has it, or empty
    std::uint32_t gathered = 0;
};

/// Adds "functions", "files", "modules", "all", "narrow", "rows", "leads" and "merged" to `into`. Functions are
/// numbered by name; then come the root, gathered boxes and other boxes that are no function, and groups of threads
/// with like names
/// ("worker-*").
PageNumbers add_functions(const NamedProfile& profile, const Palette& palette, nlohmann::ordered_json& into);

/// Boxes beyond `most` are gathered. An Error if there are no samples, or if even wide boxes are too many. With
/// `sides`, weights come from there, and the profile's own only give the widths of boxes.
Result<PageColumns> page_columns(const NamedProfile& profile, const PageNumbers& numbers,
                                 const PageSides* sides = nullptr, std::uint64_t most = 12'000'000);

/// Deflated and in base64, so that no name can end the HTML element that holds the data.
struct PageData {
    std::string facts;     // JSON: functions, threads, colours (assets/page/data.js reads it)
    std::string columns;   // the stacks (PageColumns)
    double min_width = 0;  // percent; 0: every box is there
};

/// An Error if there are no samples, or if the stacks are too deep for a page. `sides`: of a comparison.
Result<PageData> page_data(const NamedProfile& profile, const Palette& palette, const FlameGraphOptions& options,
                           const PageSides* sides = nullptr);

}  // namespace flameprobe

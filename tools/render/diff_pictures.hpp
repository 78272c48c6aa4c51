// A comparison as it is shown: a table of what changed, a flame graph of both, and a page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "diff_load.hpp"
#include "outside/byte_stream.hpp"
#include "render/call_tree.hpp"
#include "render/flame_graph.hpp"
#include "tables.hpp"

namespace flameprobe {

struct DiffTable {
    std::string text;
    std::uint64_t grown = 0;  // count_grown()
};

/// The answer, and the `rows` functions that changed most, those beyond noise first; without a number, up to 30 of
/// those beyond noise. `fail_above` is in percent of the whole.
DiffTable diff_table(ProfileDiff& diff, std::optional<std::uint64_t> rows, SortBy sort,
                     std::optional<double> fail_above, const TableNames& names = {});

// What changed, in words: shares, or amounts where these are compared.

std::string part_words(const ProfileDiff& diff, Share part);  // "12.30 %", "4.5 MiB"
/// "+12.30 %", with a sign that no font draws as a hyphen.
std::string difference_words(const ProfileDiff& diff, const Change& change);
std::string noise_words(const ProfileDiff& diff, const Change& change);  // "±12.30 %"
/// Of a side: "12 samples", "4.5 MiB, 12 samples".
std::string side_words(const ProfileDiff& diff, bool after);

/// Weight of both sides, and its variance (Share).
struct BothWeights {
    std::uint64_t before = 0, after = 0;
    double variance_before = 0, variance_after = 0;

    void operator+=(const BothWeights& other) {
        before += other.before, after += other.after;
        variance_before += other.variance_before, variance_after += other.variance_after;
    }
};

struct BoxShares {
    BothWeights total;  // of the samples in the box
    BothWeights self;   // of those that end in it
};

/// The boxes of both profiles together, and for each box the weight of either.
struct DiffTree {
    CallTree tree;
    std::vector<BoxShares> shares;
};

/// Shortens the stacks in `diff.profile` that are too deep to draw.
Result<DiffTree> build_diff_tree(ProfileDiff& diff, bool reverse, double min_width);

/// A flame graph of both: a box is as wide as the mean of its two shares, so vanished functions are as visible as new
/// ones. Orange grew, blue shrank (colours that the colour-blind can tell apart), grey is within noise; signs are
/// printed.
Result<void> write_diff_svg(ProfileDiff& diff, const DiffNames& names, SortBy by, const FlameGraphOptions& options,
                            const ByteSink& out);

/// A page with both profiles: each for itself, their difference, and a table of what changed. `table` is that table as
/// text, for readers without JavaScript.
Result<void> write_diff_html(ProfileDiff& diff, const DiffNames& names, SortBy by, const std::string& table,
                             const FlameGraphOptions& options, const ByteSink& out);

}  // namespace flameprobe

// What a comparison says first: the few changes that explain all the others, and how small a change would be seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diff_search.hpp"

namespace flameprobe {

/// A change, in words.
struct Finding : Found {
    std::string name, before, after, amount, where;
};

struct DiffAnswer {
    std::vector<Finding> findings;    // by how much they explain, the largest first
    std::string sentence;             // the first line
    std::vector<std::string> doubts;  // how many may be chance, what is too small to be seen, and what would show it
    double rest = 0, seen = 0;        // DiffSearch
    double least_fall = 0;            // of the throughput, in parts of it before (99.9 %)
};

/// Found once, and kept in `diff`.
const DiffAnswer& answer_of(ProfileDiff& diff);

/// " a request" of the unit "requests".
std::string each_unit(std::string unit);

/// How many findings grew by more than `part` of the whole before, at the lower end of an interval of 99.9 %. What only
/// takes a larger share since something else shrank did not grow. A throughput that fell by more than that counts, too.
std::uint64_t count_grown(const DiffAnswer& answer, double part);

/// The sentence, then a line for each finding, then the doubts; whole lines. `width`: of the terminal, or 0.
std::string answer_text(const DiffAnswer& answer, std::size_t width);

}  // namespace flameprobe

// One line of folded text, taken apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace flameprobe {

struct FoldedLine {
    bool well_formed = false;
    std::string_view stack;   // frames with ';' between them, without white space at the end
    std::uint64_t count = 0;  // 0 for counts that are not positive; saturates
};

/// Parses a line without its newline. `two_counts`: a count before the last one is dropped if there is one.
FoldedLine parse_folded_line(std::string_view line, bool two_counts);
/// Whether parse_folded_line would find a count before the last one.
bool has_two_counts(std::string_view line);

}  // namespace flameprobe

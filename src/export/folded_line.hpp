// One line of folded text, taken apart, and its frames' ids in a profile.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/id_table.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct FoldedLine {
    bool well_formed = false;
    std::string_view stack;   // frames with ';' between them, without white space at the end
    std::uint64_t count = 0;  // 0 for counts that are not positive; saturates
    bool below_zero = false;
    bool negative = false;
};

/// Parses a line without its newline. `two_counts`: a count before the last one is dropped if there is one.
FoldedLine parse_folded_line(std::string_view line, bool two_counts);
/// Whether parse_folded_line would find a count before the last one.
bool has_two_counts(std::string_view line);

/// Interns the frames of folded text: one frame without line or address for each name and kind. Reuses the profile's
/// frames without line and address, and its functions, whatever their file.
class FrameNames {
public:
    explicit FrameNames(NamedProfile& profile);
    /// `text` with its suffix, not empty.
    FrameId intern(std::string_view text);

private:
    bool is(FrameId frame, std::string_view name, FrameKind kind) const;
    FunctionId function(std::string_view name, FrameKind kind);

    NamedProfile& profile_;
    IdTable ids_;                                              // by name and kind
    std::unordered_map<std::uint64_t, FunctionId> functions_;  // by name and kind
};

}  // namespace flameprobe

// Folded stacks, read: a line taken apart, its frames' ids in a profile, and the whole input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct FoldedLine {
    bool well_formed = false;
    std::string_view stack;   // frames with ';' between them, without white space at the end
    std::uint64_t count = 0;  // 0 for counts that are not positive; saturates
    bool below_zero = false;
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
    NamedProfile& profile_;
    FrameId frame_of(std::string_view name, FrameKind kind, FrameId next);
    IdTable frames_;                                           // by name and kind
    std::unordered_map<std::uint64_t, FunctionId> functions_;  // likewise
};

/// Reads folded stacks (ours, the perl toolkit's, inferno's) into `profile`, adding to what is there, in one pass over
/// blocks. Lines: frames with ';' between them, white space, a count. Tabs, trailing spaces and CRLF are accepted;
/// counts of zero are ignored, and those below it, with a warning; fractions are rounded; empty frames are left out.
/// `where` names the input in errors. An input with a zero byte in its first 64 KiB, or without any well-formed line,
/// is an Error that names the first bad line; where there are good lines too, the bad ones are counted in the profile's
/// warnings.
///
/// Two columns of counts (difffolded.pl): where every line of the first 64 KiB has two, the first is dropped and the
/// second counts, as in flamegraph.pl. Elsewhere a number before the count belongs to the name (`operator 12 30`).
///
/// `_[k]`, `_[i]` and `_[w]` at a name's end become its kind. `_[j]` stays in the name: there is no such kind.
/// Bytes that are no UTF-8 are kept as they are; writers replace them.
///
/// One thread at a time. About 16 bytes of memory for every distinct stack prefix, whatever the length of the input.
class FoldedReader {
public:
    FoldedReader(NamedProfile& profile, std::string where);
    ~FoldedReader();
    FoldedReader(const FoldedReader&) = delete;
    FoldedReader& operator=(const FoldedReader&) = delete;

    /// Any piece of the input, in order.
    void feed(std::string_view piece);
    /// More of the input will change nothing: finish() will be an Error.
    bool has_failed() const;
    /// The end of the input. What was well-formed is in the profile also after an error.
    Result<void> finish();
    /// After finish(): goes on with another input, which is cheaper than a reader for each.
    void next_input(std::string where);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace flameprobe

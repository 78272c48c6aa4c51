#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

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

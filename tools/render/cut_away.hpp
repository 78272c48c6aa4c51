// Removes stacks and frames by name, or by whose code they are (--focus, --ignore, --hide, --no-inline, --own-code,
// --fold-glue).
#pragma once

#include <string>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Regular expressions (POSIX, extended), each tried on the whole name of a function and on its short one; empty: not
/// given.
struct CutOptions {
    std::string focus{};     // keep only the stacks with a match
    std::string ignore{};    // drop the stacks with a match
    std::string hide{};      // leave out matching frames: their time becomes their caller's own
    bool inlined = true;     // false: leave out inlined frames
    bool own_code = false;   // of each run of frames of libraries and the kernel leave the first, of glue none
    bool fold_glue = false;  // leave out glue, and make a function that calls itself one frame
    bool merge_threads = false;
    bool short_names = false;

    /// "only stacks with 'a', without frames 'b'": for the picture's subtitle. Empty if nothing is removed.
    std::string description() const;
};

/// An Error, which says why, if `text` is not a regular expression.
Result<void> check_expression(const std::string& text);

/// Whether a part of `name` matches the regular expression `text`, which check_expression() has accepted.
bool matches_expression(const std::string& text, const std::string& name);

/// Threads are never hidden. A stack without a frame left becomes [hidden]. Errors are those of check_expression().
Result<void> cut_away(NamedProfile& profile, const CutOptions& options);

}  // namespace flameprobe

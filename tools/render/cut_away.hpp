// What the user does not want to see: stacks and frames chosen by name.
#pragma once

#include <string>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Regular expressions (POSIX, extended), each against the whole name of a function and its short one; empty: not
/// asked.
struct CutOptions {
    std::string focus{};   // keep only the stacks with a match
    std::string ignore{};  // drop the stacks with a match
    std::string hide{};    // leave out matching frames: what ends there ends in their caller
    bool inlined = true;   // false: leave out inlined frames
    bool merge_threads = false;
    bool short_names = false;

    /// "only stacks with 'a', without frames 'b'": for the picture's subtitle. Empty if no sample or frame goes.
    std::string description() const;
};

/// An Error if it is no regular expression, which says why.
Result<void> check_expression(const std::string& text);

/// Threads are never hidden. A stack of which nothing is left becomes [hidden]. An Error as of check_expression.
Result<void> cut_away(NamedProfile& profile, const CutOptions& options);

}  // namespace flameprobe

// Names in forms that other programs can read.
#pragma once

#include <string>
#include <string_view>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// `text` as one line. A character for which is_shown() is false, such as a control character or Unicode's line
/// separator, becomes a space. A byte that is no UTF-8 (RFC 3629: also surrogates and overlong forms) becomes U+FFFD.
std::string one_line(std::string_view text);

/// A frame of folded text: one line, not empty, no ';', no white space at its ends. It does not end in white space and
/// a number, which readers take for a count. `_[k]`, `_[i]` and `_[w]` end kernel and inlined functions and a lock's
/// holder's; scopes are in square brackets.
std::string folded_name(std::string_view name, FrameKind kind, bool may_end_stack = true);

/// A function's name where nothing needs escaping: one line, scopes in square brackets.
std::string plain_name(std::string_view name, FrameKind kind);

}  // namespace flameprobe

// Names in forms that other programs can read.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// `text` as one line. A character for which is_shown() is false, such as a control character or Unicode's line
/// separator, becomes a space. A byte that is no UTF-8 (RFC 3629: also surrogates and overlong forms) becomes U+FFFD.
std::string one_line(std::string_view text);

/// How names in folded text end that are no ordinary function's.
inline constexpr std::pair<FrameKind, std::string_view> kind_suffixes[] = {
    {FrameKind::kernel, "_[k]"}, {FrameKind::inlined, "_[i]"}, {FrameKind::held, "_[w]"}};

/// A frame of folded text: one line, not empty, no ';', no white space at its ends. It does not end in white space and
/// a number, which readers take for a count. It has the suffix of its kind; scopes are in square brackets.
std::string folded_name(std::string_view name, FrameKind kind, bool may_end_stack = true);

/// A function's name where nothing needs escaping: one line, scopes in square brackets.
std::string plain_name(std::string_view name, FrameKind kind);

// Of a profile's functions, for tables.

/// As in folded text.
std::string display_name(const NamedProfile& profile, FunctionId function);
/// The last part of the module's path; empty if there is none.
std::string module_name(const NamedProfile& profile, FunctionId function);

}  // namespace flameprobe

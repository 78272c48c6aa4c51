// The text beside a picture that says how its profile came about.
#pragma once

#include <string>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// `picture`, which has been written, with .txt for its ending. Nothing is written for a profile without a run. A file
/// of that name that is no provenance stays as it is, and that is an Error.
Result<void> write_provenance_beside(const NamedProfile& profile, const std::string& picture);

/// Of two profiles that are shown as one picture: every key begins with "before " or "after ".
std::string provenance_of_both(const NamedProfile& before, const NamedProfile& after);
Result<void> write_text_beside(const std::string& provenance, const std::string& picture);

}  // namespace flameprobe

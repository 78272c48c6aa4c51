// The provenance of a picture, in a text beside it.
#pragma once

#include <string>

#include "base/result.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Writes the provenance of `picture` under its name, with the ending .txt. Writes nothing for a profile without a run.
/// An Error if another file has that name; it is not changed.
Result<void> write_provenance_beside(const NamedProfile& profile, const std::string& picture);

/// The provenance of two profiles in one picture: every key begins with "before " or "after ".
std::string provenance_of_both(const NamedProfile& before, const NamedProfile& after);
Result<void> write_text_beside(const std::string& provenance, const std::string& picture);

}  // namespace flameprobe

#pragma once

#include <string>
#include <vector>

#include "render/page_source.hpp"

namespace flameprobe {

/// Puts the text of the lines into `source`, with those about them, from the files that the profile names: at their own
/// path, or below one of `directories`, where leading parts of the path may be missing. Files above 8 MiB and what is
/// no regular file are left alone. What was not found is said in the function's note.
void add_source_text(const NamedProfile& profile, const std::vector<std::string>& directories, PageSource& source);

}  // namespace flameprobe

#pragma once

#include "render/page_source.hpp"

namespace flameprobe {

/// The functions in which most samples end, themselves or in what was inlined into them, at most `most`, each with its
/// lines. Only those with a known line.
PageSource source_lines(const NamedProfile& profile, std::size_t most);

}  // namespace flameprobe

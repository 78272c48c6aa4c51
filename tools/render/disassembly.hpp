#pragma once

#include <string>
#include <vector>

#include "render/page_source.hpp"

namespace flameprobe {

/// Puts the instructions of the functions into `source`, each with the samples that were taken at it, from the files
/// that the code was mapped from; those must be the same still (build id). Nothing for merged profiles, which have no
/// addresses. What cannot be had is said in the function's note.
void add_disassembly(const NamedProfile& profile, PageSource& source);

}  // namespace flameprobe

// What the page shows of its functions: lines with samples, their text, their instructions.
#pragma once

#include <string>
#include <vector>

#include "render/page_source.hpp"

namespace flameprobe {

/// The functions in which most samples end, themselves or in what was inlined into them, at most `most`, each with its
/// lines. Only those with a known line.
PageSource source_lines(const NamedProfile& profile, std::size_t most);

/// Puts the text of the lines into `source`, with those about them, from the files that the profile names: at their own
/// path, or below one of `directories`, where leading parts of the path may be missing. Files above 8 MiB and what is
/// no regular file are left alone. What was not found is said in the function's note.
void add_source_text(const NamedProfile& profile, const std::vector<std::string>& directories, PageSource& source);

/// Puts the instructions of the functions into `source`, each with the samples that were taken at it, from the files
/// that the code was mapped from; those must be the same still (build id). Nothing for merged profiles, which have no
/// addresses. What cannot be had is said in the function's note.
void add_disassembly(const NamedProfile& profile, PageSource& source);

}  // namespace flameprobe

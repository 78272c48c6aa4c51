// The page's view of functions: lines with samples, their text, their instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/flame_graph.hpp"

namespace flameprobe {

/// The lines of the functions in which most samples end, in themselves or in what was inlined into them; at most `most`
/// functions, and only those with a known line.
PageSource source_lines(const NamedProfile& profile, std::size_t most);

/// Puts the text of the lines and of those around them into `source`, from the files that the profile names: at their
/// own path, or below one of `directories`, where leading parts of the path may be missing. Only regular files of at
/// most 8 MiB are read. A function's note says what was not found.
void add_source_text(const NamedProfile& profile, const std::vector<std::string>& directories, PageSource& source);

/// Why this program can show no instructions; empty if it can.
std::string_view without_instructions();

/// Puts the instructions of the functions into `source`, each with the samples that were taken at it, from the files
/// that the code was mapped from; those must still be the same (build id). Nothing for merged profiles, which have no
/// addresses. A function's note says what is missing.
void add_disassembly(const NamedProfile& profile, PageSource& source);

}  // namespace flameprobe

// What of one profile is what of another: processes by what they are for, threads by their names without numbers,
// functions by their names without what differs from build to build. Process ids and numbers decide nothing.
#pragma once

#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct Correspondence {
    /// The part of each side's weight whose process, thread and own function the other side has too, from 0 to 1.
    double matched_before = 1, matched_after = 1;
    /// Sentences on what was taken for one although its names differ.
    std::vector<std::string> remarks;
    /// Sentences on functions that may be one under another name (compare/renamed.hpp), and are compared as one.
    std::vector<std::string> leads;
};

/// Gives functions, threads and processes of both that correspond the same name; a process first in all stacks, if one
/// side has it and the other can. Ids of functions and counts stay, those of nodes may move.
Correspondence make_alike(NamedProfile& before, NamedProfile& after);

/// Puts a frame of its program first in all stacks, as in runs of several processes.
void put_program_first(NamedProfile& profile);

}  // namespace flameprobe

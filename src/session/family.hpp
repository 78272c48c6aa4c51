// Processes of one run: the first, its forked children (which know it), and programs they execute (which cannot, but
// for a variable in their environment).
#pragma once

#include "session/options.hpp"

namespace flameprobe {

/// Whether an earlier process of this run has left its mark in the environment.
bool is_descendant();
/// Leaves that mark, where descendants need it: to stay quiet (FLAMEPROBE_CHILDREN=off), to keep off each other's files
/// (a FLAMEPROBE_OUT without %p), or not to repeat a complaint. The host sees one more variable; otherwise none.
void mark_descendants(const Options& options, bool complained);

}  // namespace flameprobe

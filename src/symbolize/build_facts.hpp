// How the sampled program was built, as its file says.
#pragma once

#include "profile/model.hpp"

namespace flameprobe {

/// Adds "compilers" and "optimisation flags" to the facts of a run that has none of them, behind what is known of its
/// directory. `executable`: where the program was mapped; null if no sample was in it. Gives whether anything was
/// added: the file must be the one that ran, so not known for a program that was rebuilt, or ran on another machine.
bool add_build_facts(RunInfo& run, const Mapping* executable);

}  // namespace flameprobe

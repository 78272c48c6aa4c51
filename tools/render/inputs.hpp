#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "process_tree.hpp"
#include "progress.hpp"
#include "symbolize/load.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Everything in `paths` that the arguments select, as one profile. With Arguments::tree, and of one input in which
/// several processes have samples, the process is the first frame of each stack, and its share is told.
/// Inputs are read one after the other, so memory grows with the distinct stacks in them, not with their number. Empty
/// ones among others are left out, with a warning. `known`: the processes in them, if they were read before.
Result<NamedProfile> load_inputs(const std::vector<std::string>& paths, const Arguments& arguments, Progress& progress,
                                 const std::vector<ProcessPart>* known = nullptr);

/// Loads each of the other events that are shown like the first, as `others`.
Result<void> load_other_events(NamedProfile& profile, const std::vector<std::string>& paths, Arguments arguments,
                               Progress& progress, const std::vector<ProcessPart>* known = nullptr);

/// The options for looking up the addresses of the input `name`.
SymbolizeOptions symbolize_options(const Arguments& arguments, Progress& progress, const std::string& name);

/// Drops the samples of a folded input that `filter` excludes. In folded text the thread is the first frame, and a
/// scope is a frame in square brackets; times are not known.
void keep_wanted(NamedProfile& profile, const SampleFilter& filter);

/// The inputs that one side of a comparison names: a file; a directory, for the `.fprobe` in it by name; or several of
/// either with commas between. An Error where a directory has none.
Result<std::vector<std::string>> side_inputs(const std::string& text);

/// The inputs as pictures name them: "a.fprobe", "a.fprobe and 4 more".
std::string side_name(const std::vector<std::string>& inputs);

}  // namespace flameprobe

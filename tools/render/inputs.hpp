#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "process_tree.hpp"
#include "progress.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Everything in `paths` that the arguments select, as one profile. With Arguments::tree each process's frame comes
/// first, and what each had is added to `processes`. Inputs are read one after the other, so memory
/// grows with what is distinct in them, not with their number.
Result<NamedProfile> load_inputs(const std::vector<std::string>& paths, const Arguments& arguments, Progress& progress,
                                 std::vector<ProcessShare>* processes = nullptr);

/// How the addresses of `name` are to be looked up.
SymbolizeOptions symbolize_options(const Arguments& arguments, Progress& progress, const std::string& name);

}  // namespace flameprobe

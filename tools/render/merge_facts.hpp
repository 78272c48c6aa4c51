#pragma once

#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Adds what `from` says about its run to `into`: sums where a sum means something, "various" where the runs differ.
/// `threads` gives the ids that from's threads have in `into`.
void merge_facts(NamedProfile& into, const NamedProfile& from, const std::vector<ThreadId>& threads);

}  // namespace flameprobe

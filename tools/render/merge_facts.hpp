#pragma once

#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Adds the facts of from's run to `into`: sums where they make sense, "various" where the runs differ. `threads` gives
/// the ids that from's threads have in `into`.
void merge_facts(NamedProfile& into, const NamedProfile& from, const std::vector<ThreadId>& threads);
/// Whether two runs have the same period but for its random part: each run's is up to 2.5 % shorter than asked for.
bool same_period(const RunInfo& one, const RunInfo& other);

}  // namespace flameprobe

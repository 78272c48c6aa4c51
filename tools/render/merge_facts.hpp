#pragma once

#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Adds what `from` says about its run to `into`: sums where a sum means something, "various" where the runs differ.
/// `threads` gives the ids that from's threads have in `into`. From's weights count `unit` each.
void merge_facts(NamedProfile& into, const NamedProfile& from, const std::vector<ThreadId>& threads,
                 std::uint64_t unit);
/// Each run's period is up to 2.5 % longer than what was asked for, by chance.
bool same_period(const RunInfo& one, const RunInfo& other);
/// Multiplies the weights that are told of the run.
void scale_facts(NamedProfile& profile, std::uint64_t factor);

}  // namespace flameprobe

#pragma once

#include "symbolize/load.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Drops the samples of a folded input that `filter` does not want. There the thread is the first frame, and a scope
/// is a frame in square brackets; times are not known.
void keep_wanted(NamedProfile& profile, const SampleFilter& filter);

}  // namespace flameprobe

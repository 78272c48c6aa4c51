// Just-in-time compilers use memory again: what lay at an address depends on when it was sampled.
#pragma once

#include "symbolize/raw_profile.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Counts the samples that RawProfile has kept apart. Where dumps of just-in-time compilers say that an address held
/// several functions, its location is split. Each function gets a mapping of its own, which begins when it came there.
/// Stacks through it are those of the function that lay there when the sample was taken.
void split_by_time(RawProfile& raw, const SymbolizeOptions& options);

}  // namespace flameprobe

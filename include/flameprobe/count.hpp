// Units of work: `FlameProbe::count("requests", n);`. A header of its own: a program that uses it needs nothing of
// FlameProbe at run time. Its counts are in its profile as soon as it is sampled.
#pragma once

#include <cstdint>

#include "flameprobe/count.h"
#include "flameprobe/scope.hpp"

namespace FlameProbe {

/// Adds `amount` to the units of work called `name` (a string literal, or what intern() gave), over all threads. Their
/// number and their CPU time are in the profile; `flameprobe bench` takes them as its unit. Thread-safe, without a
/// lock. Async-signal-safe, but for the first call in a program's module and in a thread. About as cheap as a Scope.
inline void count(Label name, std::uint64_t amount = 1) noexcept { flameprobe_count(name.text(), amount); }

}  // namespace FlameProbe

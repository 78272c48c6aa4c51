// Tries whether an event counts: some can be opened without an error and never count anything.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "capture/event_source.hpp"

namespace flameprobe {

/// Opens options.event for the calling thread as it would be sampled, does what it counts, and looks. An Error is one
/// sentence that says why not and which setting helps. Takes well under a millisecond; for `cpu-migrations` the calling
/// thread visits the CPUs it may use (sched_setaffinity) and comes back. Where there is nothing to provoke it with
/// (migrations with one CPU, as far as they may be sampled) it is believed. Needs a descriptor for the time.
Result<void> try_event(const CaptureOptions& options);

}  // namespace flameprobe

// Reads a `.fprobe` and names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "profile/byte_source.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// Which samples to keep; empty keeps all.
struct SampleFilter {
    std::string thread;  // name or tid
    std::string scope;   // label somewhere in the stack
    // With these the result's start and duration are the window's.
    std::optional<std::uint64_t> from_ns;  // after the run's start, inclusive
    std::optional<std::uint64_t> to_ns;    // exclusive
    std::optional<std::uint32_t> pid;      // of the process
    std::uint64_t late_counts_ns = 0;      // units of work count so much later than `to_ns`: they are read late
    bool times = false;                    // fill NamedProfile::times
    std::string event;                     // which event's samples; empty: the first that was asked for
    bool idle = false;                     // the waits of threads that never woke, too
};

/// A named profile of one `.fprobe`. Names come from the profile itself where it has been archived, else from this
/// machine (of the options, `same_boot` and `pid` are worked out from the profile where they are not given). Each stack
/// starts with a frame of kind `thread`. Throws nothing of its own: running out of memory is an Error.
Result<NamedProfile> load_profile(const std::string& path, const SampleFilter& filter, const SymbolizeOptions& options);
/// `cache`, if given, knows names from profiles before, and learns.
Result<NamedProfile> load_profile(ByteSource& source, const SampleFilter& filter, const SymbolizeOptions& options,
                                  SymbolCache* cache = nullptr);
/// How much debug information may be read for a run, so that this takes no more than about half of the CPU time that
/// the run took (a tenth for separate debug files), or the 30 ms of a small program's own. All of it from a hundred
/// samples on.
std::uint64_t debug_bytes_worth(const Summary& summary);
/// With all events that were asked for when it was sampled: the first, and NamedProfile::others. `path` is read once
/// for each.
Result<NamedProfile> load_all_events(const std::string& path, SampleFilter filter, const SymbolizeOptions& options);

}  // namespace flameprobe

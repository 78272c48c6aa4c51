// Reads a `.fprobe` and names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "outside/byte_stream.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/symbol_cache.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// What was sampled in requests of one label (FlameProbe::Request) that took so long; `others` of it: in its others.
struct RequestChoice {
    std::string label;                                         // empty: any code
    std::uint32_t from_cell = 0, to_cell = ~std::uint32_t{0};  // duration_cell(), both inclusive

    bool has(std::uint64_t cell) const { return cell >= from_cell && cell <= to_cell; }
    bool operator==(const RequestChoice&) const = default;
};

/// Which samples to keep; empty keeps all.
struct SampleFilter {
    std::string thread;  // name or tid
    std::string scope;   // label somewhere in the stack
    RequestChoice requests;
    // With these the result's start and duration are the window's.
    std::optional<std::uint64_t> from_ns;  // after the run's start, inclusive
    std::optional<std::uint64_t> to_ns;    // exclusive
    std::optional<std::uint32_t> pid;      // of the process
    std::uint64_t late_counts_ns = 0;  // units of work are kept until this long after `to_ns`, as they are read late
    bool times = false;                // fill NamedProfile::times
    std::string event;                 // whose samples; empty: the first event that was asked for
    bool idle = false;                 // the waits of threads that never woke, too
    /// Keeps what the one choice above (by time, thread, scope or pid) would leave out. Not of what is alive.
    bool others = false;
};

/// A named profile of one `.fprobe`. Names come from the profile itself where it has been archived, else from this
/// machine. Options that are not given (`same_boot`, `pid`) are set from the profile. Each stack starts with a frame of
/// kind `thread`. Running out of memory is an Error, too.
Result<NamedProfile> load_profile(const std::string& path, const SampleFilter& filter, const SymbolizeOptions& options);
/// `cache`, if given, has the names from earlier profiles, and gets new ones.
Result<NamedProfile> load_profile(ByteSource& source, const SampleFilter& filter, const SymbolizeOptions& options,
                                  SymbolCache* cache = nullptr);
/// How much debug information may be read for a run, so that reading takes no more than about half of the CPU time that
/// the run took (a tenth for separate debug files), or the 30 ms that a small program's own takes. No limit from a
/// hundred samples on.
std::uint64_t debug_bytes_worth(const Summary& summary);

}  // namespace flameprobe

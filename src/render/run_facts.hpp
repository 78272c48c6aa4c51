// What was measured and how: the lines in the footer of every picture.
#pragma once

#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct Fact {
    std::string label;
    std::string value;
};

/// Whether weights count events such as page faults, rather than time.
inline bool counts_events(const RunInfo& run) { return run.event_kind == "software event"; }

/// Empty for a profile without a run (read from a folded file).
std::vector<Fact> run_facts(const NamedProfile& profile);

/// The program's name as the user typed it: the base name of the command's first word.
std::string program_name(const RunInfo& run);
/// "CPU flame graph: redis-server (pid 123)", or "Flame graph" where there is no run.
std::string default_title(const NamedProfile& profile);
/// "12,345 samples over 12.3 s, 11.9 s of CPU time"
std::string default_subtitle(const NamedProfile& profile);

}  // namespace flameprobe

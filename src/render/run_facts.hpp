// What was measured and how: the lines in the footer of every picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/model.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct Fact {
    std::string label;
    std::string value;
};

/// Empty for a profile without a run (read from a folded file).
std::vector<Fact> run_facts(const NamedProfile& profile);
/// Whether names of functions decide what the facts say.
bool facts_need_names(const NamedProfile& profile);

/// "CPU flame graph: redis-server (pid 123)", or "Flame graph" where there is no run.
std::string default_title(const NamedProfile& profile);
/// "11.9 s of CPU time", "2.1 MiB allocated"; of what is counted in samples only, empty.
std::string measured_text(const NamedProfile& profile, std::uint64_t weight);
/// "11.9 s of CPU time in 12.3 s, 12,345 samples"
std::string default_subtitle(const NamedProfile& profile);

}  // namespace flameprobe

// Finds mistakes in options before the command starts, so that an hour's run does not end without a profile.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "session/settings.hpp"

namespace flameprobe {

/// The settings that a command was given as options.
struct GivenSettings {
    std::vector<std::pair<std::string, std::string>> variables;  // the later one counts
    Arguments look;                                              // of pictures that the command itself draws

    Problem take(const Setting& setting, const std::string& value);
    std::string value(std::string_view variable, std::string otherwise) const;
};

/// Why the variable's value would not be accepted; empty if it would.
std::string setting_problem(const std::string& variable, const std::string& value);
/// Why an accepted FLAMEPROBE_EVENT=`value` cannot be sampled here; empty if it can.
std::string event_problem(const std::string& value);
/// The directory of the results, for the template `out` and a command.
std::string expanded_out(const std::string& out, const std::string& command, int pid, long long start);
/// Why results cannot be made at the place that `out` names; empty if they can, or if only the process itself knows the
/// place.
std::string place_problem(const std::string& out, const std::string& command, const std::vector<Format>& formats);
/// Why no windows can be left in `directory`; empty if they can. It need not exist yet.
std::string spool_problem(const std::string& directory);
/// What FLAMEPROBE_FORMAT=`list` asks for; nothing for "none" and for what is not accepted.
std::vector<Format> formats_of(const std::string& list);

}  // namespace flameprobe

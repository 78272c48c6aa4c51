// Two profiles, or two groups of them, by the comparison that flameprobe-render --diff makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe::compare {

struct ProfilesRequest {
    std::string before, after;         // as side_inputs() takes them
    std::vector<std::string> outputs;  // .md, .html or .json
    std::string process, event, per;
    std::optional<std::uint32_t> pid;
    std::optional<double> fail_above;  // as a share of the whole
    double least_share = 0.005;        // in the JSON: functions with less on both sides are left out
    bool long_names = false;
};

/// Whether a side is named like profiles: a file, a directory of `.fprobe`, or several with commas between.
bool is_of_profiles(const std::string& side);

/// Prints what changed; an exit status.
int compare_profiles(const ProfilesRequest& request);

}  // namespace flameprobe::compare

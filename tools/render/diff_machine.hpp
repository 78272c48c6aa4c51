// What tells a change of a program from one of the machine: the time of a run, and interrupts.
#pragma once

#include <optional>
#include <vector>

#include "diff.hpp"

namespace flameprobe {

/// How the CPU time of a run changed, as a logarithm, and its standard deviation; none if weights are no CPU time.
struct TimeOfRun {
    double before = 0, after = 0;  // nanoseconds
    double change = 0, deviation = 0;
};
std::optional<TimeOfRun> time_of_run(const ProfileDiff& diff);

/// Units of work a second, and the time for each unit as parts of the longer one; none where not both sides are several
/// runs that counted both.
struct WorkRate {
    double before = 0, after = 0;
    Change time;
};
std::optional<WorkRate> work_rate(const ProfileDiff& diff);

/// Of each node whether it is in an interrupt of the CPU.
std::vector<bool> below_interrupts(const NamedProfile& profile);

}  // namespace flameprobe

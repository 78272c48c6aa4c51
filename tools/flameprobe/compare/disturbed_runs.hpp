// Runs in which the machine did something else.
#pragma once

#include <string>

#include "measurement.hpp"

namespace flameprobe::compare {

struct Undisturbed {
    MeasuredPoint point;
    std::string remark;  // which runs were left out, and why; empty if none
};

/// Leaves out runs whose CPU time per unit is off the median of all by more than 10 % and by more than six standard
/// deviations (by the median absolute deviation, which such runs hardly move): by chance that is one of 500 million.
/// Only of five runs or more, and at most a fifth of them: more of the kind are what the program does.
Undisturbed without_disturbed_runs(const MeasuredPoint& point);

}  // namespace flameprobe::compare

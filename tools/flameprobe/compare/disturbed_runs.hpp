// Finds runs that other work on the machine has disturbed.
#pragma once

#include <string>

#include "measurement.hpp"

namespace flameprobe::compare {

struct Undisturbed {
    MeasuredPoint point;
    std::string remark;  // which runs were left out, and why; empty if none
};

/// Leaves out runs whose CPU time per unit differs from the median of all by more than 10 % and by more than six
/// standard deviations (from the median absolute deviation, which such runs hardly affect); by chance one of 500
/// million runs does. Only from five runs on, and at most a fifth of them: if there are more, the program itself
/// varies.
Undisturbed without_disturbed_runs(const MeasuredPoint& point);

}  // namespace flameprobe::compare

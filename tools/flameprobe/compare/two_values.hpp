// Old and new that were measured in one bench, as two values of a variable: their runs took turns.
#pragma once

#include <string>

#include "base/result.hpp"
#include "measurement.hpp"

namespace flameprobe::compare {

struct TwoSides {
    Measurement before, after;  // paths: "version=old", "version=new"
};
/// Divides the points into those with the variable's first value and those with its second, with equal titles on both
/// sides. An Error if no scenario has the variable, or it does not have two values.
Result<TwoSides> two_values(const Measurement& measurement, const std::string& variable);

}  // namespace flameprobe::compare

// Old and new that were measured in one bench, as two values of a variable: their runs took turns.
#pragma once

#include <string>

#include "base/result.hpp"
#include "measurement.hpp"

namespace flameprobe::compare {

struct TwoSides {
    Measurement before, after;  // paths: "version=old", "version=new"
};
/// The points with the variable's first value and those with its other one, by the same titles without it. An Error
/// where no scenario has the variable, or it has not two values.
Result<TwoSides> two_values(const Measurement& measurement, const std::string& variable);

}  // namespace flameprobe::compare

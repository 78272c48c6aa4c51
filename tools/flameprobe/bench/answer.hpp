// What a report says first: in sentences, before figures.
#pragma once

#include <string>

#include "report.hpp"

namespace flameprobe::bench {

/// What grows with the variable, how much of the ideal is lost and within which error, and where it is lost.
std::string answer_of(const ScalingReport& scaling, const std::string& unit);
/// What a unit of work costs, and in which function most.
std::string answer_of(const PointReport& point);

/// "requests" as one: "request".
std::string one_of(const std::string& unit);

}  // namespace flameprobe::bench

// What a unit of work allocates, by function.
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace flameprobe::bench {

struct AllocationCost {
    std::string name;
    Interval bytes, number;  // per unit of work, by the function itself
    double total_bytes = 0;  // with what it calls, mean
};

struct AllocationCosts {
    std::vector<AllocationCost> functions;  // most bytes first; empty: no run has any
    Interval bytes, number;                 // per unit of work, of all functions
};

AllocationCosts allocation_costs(const PointReport& point);

}  // namespace flameprobe::bench

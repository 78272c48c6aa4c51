// Two results of the bench as what `flameprobe-render --diff` compares: for each scenario its runs on both sides.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "compared.hpp"
#include "measurement.hpp"

namespace flameprobe::compare {

struct BenchRequest {
    std::string per;    // what is compared; empty: a unit of work, or a second where none is counted
    std::string event;  // empty: each that both sides have
    DiffNames names;
};

/// A comparison for each scenario with the same variables, and event. Stacks are compared where the profiles of all
/// runs are beside the reports, in the load's time; else what the reports say of each function. `remarks` gets a
/// sentence on each scenario that cannot be compared. An Error if none can.
Result<std::vector<Compared>> compare_benches(const Measurement& before, const Measurement& after,
                                              const BenchRequest& request, std::vector<std::string>& remarks);

}  // namespace flameprobe::compare

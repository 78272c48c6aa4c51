// The two sides of a comparison, as data of a page.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "render/run_facts.hpp"

namespace flameprobe {

struct SideCount {
    std::uint64_t weight = 0;
    std::uint64_t hits = 0;  // 0: CPU time that is known, but was not sampled
};

/// Before and after, in this order.
struct PageSides {
    std::array<std::string, 2> names;              // what the inputs are called
    std::array<std::uint64_t, 2> period_ns{};      // time of a unit of weight, 0 if unknown
    std::array<std::vector<SideCount>, 2> counts;  // of each of the profile's counts
    std::vector<Fact> facts;                       // how it was compared
    std::string summary;                           // plain text, for readers without JavaScript
    bool by_self = false;                          // colours and order are by functions' own samples, else by all
};

}  // namespace flameprobe

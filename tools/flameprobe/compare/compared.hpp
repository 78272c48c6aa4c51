// A comparison of one pair, by tools/render/diff.hpp.
#pragma once

#include <string>

#include "diff.hpp"
#include "diff_load.hpp"

namespace flameprobe::compare {

struct Compared {
    std::string title;  // the scenario of a bench with its variables, and the event; empty: of profiles
    ProfileDiff diff;
    DiffNames names;
};

}  // namespace flameprobe::compare

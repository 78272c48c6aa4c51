#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "diff.hpp"
#include "render/run_facts.hpp"

namespace flameprobe {

struct DiffNames {
    std::string before, after;  // what the two inputs are called
};

/// How it was compared: the lines below a picture of it.
std::vector<Fact> diff_facts(const ProfileDiff& diff, const DiffNames& names, SortBy by);

}  // namespace flameprobe

// How many samples each function has: of its own, and with what it calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct FunctionTotal {
    FunctionId function = 0;  // the first of those that are shown under one name
    std::uint64_t self = 0;
    std::uint64_t total = 0;  // samples with it anywhere in the stack; a recursive function counts once
};

struct Totals {
    std::vector<FunctionTotal> functions;  // in the order of function ids; threads are left out
    std::uint64_t samples = 0;
};

/// Functions with equal name, kind and module are one. Takes time in the order of nodes, however deep the stacks.
Totals function_totals(const NamedProfile& profile);

/// Weight of all samples.
std::uint64_t total_weight(const NamedProfile& profile);

/// As in folded text: one line, `_[k]` and `_[i]` at the end of kernel and inlined functions.
std::string display_name(const NamedProfile& profile, FunctionId function);
/// The last part of the module's path; empty if there is none.
std::string module_name(const NamedProfile& profile, FunctionId function);

}  // namespace flameprobe

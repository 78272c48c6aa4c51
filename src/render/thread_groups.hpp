// Groups of threads with like names: worker-0 to worker-31 are worker-*.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// For each name the one of its group: "worker-*" where more than `alike` different names differ in their last number
/// only, else the name itself.
std::vector<std::string> thread_groups(const std::vector<std::string>& names, std::size_t alike = 4);

/// Gives the threads of a group, from two on, its name in the stacks; the list of threads stays as it is. In a profile
/// without a run (folded text) the first frame of a stack is the thread.
void merge_threads(NamedProfile& profile);

/// The shown functions where the threads of a group are one box: the group's first member, under the group's name.
struct GatheredThreads {
    std::vector<FunctionId> shown;  // of each function (shown_functions())
    std::map<FunctionId, std::string> names;
};
GatheredThreads gather_threads(const NamedProfile& profile);

}  // namespace flameprobe

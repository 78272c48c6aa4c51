
#include <algorithm>
#include <map>
#include <set>

#include "base/number.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

namespace {

/// "worker-*" of "worker-12", "pool-*-io" of "pool-3-io"; the name itself if it has no number behind its first letter.
std::string pattern_of(const std::string& name) {
    const auto last = std::find_if(name.rbegin(), name.rend(), is_digit);
    if (last == name.rend()) return name;
    const auto first = std::find_if_not(last, name.rend(), is_digit);
    if (first == name.rend()) return name;
    return std::string(name.begin(), first.base()) + "*" + std::string(last.base(), name.end());
}

}  // namespace

std::vector<std::string> thread_groups(const std::vector<std::string>& names, std::size_t alike) {
    std::map<std::string, std::set<std::string>> members;
    for (const std::string& name : names) members[pattern_of(name)].insert(name);
    std::vector<std::string> groups;
    for (const std::string& name : names) {
        std::string pattern = pattern_of(name);
        groups.push_back(members[pattern].size() > alike ? std::move(pattern) : name);
    }
    return groups;
}

void merge_threads(NamedProfile& profile) {
    std::vector<bool> first(profile.functions.size());
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
        const FunctionId id = profile.function_of(node);
        const bool thread = profile.functions[id].kind == FrameKind::thread;
        if (thread || (!profile.has_run && profile.nodes[node].parent == 0)) first[id] = true;
    }
    std::vector<std::string> names;
    std::vector<FunctionId> ids;
    for (FunctionId id = 0; id < first.size(); ++id) {
        if (!first[id]) continue;
        names.emplace_back(profile.strings.view(profile.functions[id].name));
        ids.push_back(id);
    }
    const std::vector<std::string> groups = thread_groups(names, 1);
    for (std::size_t at = 0; at < ids.size(); ++at)
        profile.functions[ids[at]].name = profile.strings.intern(groups[at]);
}

GatheredThreads gather_threads(const NamedProfile& profile) {
    GatheredThreads made{shown_functions(profile), {}};
    std::set<FunctionId> used;
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
        const FunctionId id = profile.function_of(node);
        if (profile.functions[id].kind == FrameKind::thread) used.insert(made.shown[id]);
    }
    std::vector<std::string> names;
    for (const FunctionId id : used) names.emplace_back(profile.strings.view(profile.functions[id].name));
    const std::vector<std::string> groups = thread_groups(names);
    std::map<std::string, FunctionId> first;
    std::map<FunctionId, FunctionId> member_of;
    std::size_t at = 0;
    for (const FunctionId id : used) {
        const std::string& group = groups[at];
        if (group != names[at++]) member_of[id] = first.try_emplace(group, id).first->second;
    }
    for (const auto& [group, id] : first) made.names[id] = group;
    for (FunctionId& id : made.shown)
        if (const auto found = member_of.find(id); found != member_of.end()) id = found->second;
    return made;
}

}  // namespace flameprobe

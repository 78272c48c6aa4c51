#include "filter.hpp"

#include <algorithm>
#include <vector>

namespace flameprobe {

void keep_wanted(NamedProfile& profile, const SampleFilter& filter) {
    if (filter.thread.empty() && filter.scope.empty()) return;
    std::vector<bool> of_thread(profile.nodes.size(), filter.thread.empty());
    std::vector<bool> in_scope(profile.nodes.size(), filter.scope.empty());
    const std::string bracketed = "[" + filter.scope + "]";
    for (NodeId id = 1; id < profile.nodes.size(); ++id) {
        const NamedNode& node = profile.nodes[id];
        const std::string_view name = profile.name(node.frame);
        if (of_thread[node.parent] || (node.parent == 0 && name == filter.thread)) of_thread[id] = true;
        if (in_scope[node.parent] || name == bracketed) in_scope[id] = true;
    }
    std::erase_if(profile.counts,
                  [&](const NamedCount& count) { return !of_thread[count.node] || !in_scope[count.node]; });
}

}  // namespace flameprobe

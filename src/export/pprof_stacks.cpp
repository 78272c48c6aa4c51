#include "export/pprof_stacks.hpp"

#include <utility>

namespace flameprobe {

PprofStacks::PprofStacks(const NamedProfile& profile)
    : profile_(profile), chains_(1), chain_of_node_(profile.nodes.size()) {
    for (NodeId node = 1; node < profile.nodes.size(); ++node) {
        const auto [parent, frame] = profile.nodes[node];
        const bool inlined_there =
            kind(node) == FrameKind::inlined && parent != 0 && kind(parent) != FrameKind::thread &&
            kind(parent) != FrameKind::scope &&
            profile.frames[profile.nodes[parent].frame].location == profile.frames[frame].location;
        chain_of_node_[node] = chain(inlined_there ? chain_of_node_[parent] : 0, frame);
    }
}

void PprofStacks::stack(NodeId leaf, Stack& stack) {
    stack.locations.clear();
    stack.scopes.clear();
    for (NodeId node = leaf; node != 0; node = profile_.nodes[node].parent) {
        if (kind(node) == FrameKind::thread) continue;
        if (kind(node) == FrameKind::scope) {
            stack.scopes.push_back(profile_.frames[profile_.nodes[node].frame].function);
            continue;
        }
        const std::uint32_t innermost = chain_of_node_[node];
        for (std::uint32_t at = innermost; chains_[at].outer != 0; at = chains_[at].outer)
            node = profile_.nodes[node].parent;
        chains_[innermost].used = true;
        stack.locations.push_back(innermost);
    }
    if (stack.locations.empty() && leaf != 0) {
        chains_[chain_of_node_[leaf]].used = true;
        stack.locations.push_back(chain_of_node_[leaf]);
    }
}

void PprofStacks::frames(std::uint64_t location, std::vector<FrameId>& frames) const {
    frames.clear();
    for (auto at = static_cast<std::uint32_t>(location); at != 0; at = chains_[at].outer)
        frames.push_back(chains_[at].frame);
}

std::uint32_t PprofStacks::chain(std::uint32_t outer, FrameId frame) {
    const auto next = static_cast<std::uint32_t>(chains_.size());
    const auto id = index_.find_or_claim(
        outer, frame, next, [this](std::uint32_t at) { return std::pair(chains_[at].outer, chains_[at].frame); });
    if (id == next) chains_.push_back({outer, frame, false});
    return id;
}

FrameKind PprofStacks::kind(NodeId node) const {
    return profile_.functions[profile_.frames[profile_.nodes[node].frame].function].kind;
}

}  // namespace flameprobe

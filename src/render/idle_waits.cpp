#include "render/idle_waits.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t levels_deeper = 2;
constexpr std::uint64_t least_looks_at_loop = 5;
constexpr double least_of_loop = .01;

}  // namespace

std::string IdleWaits::threads_of(NodeId leaf) const {
    std::string names;
    for (NodeId node = leaf; node != 0; node = profile_.nodes[node].parent)
        if (profile_.function(node).kind == FrameKind::thread)
            names.append(profile_.name(profile_.nodes[node].frame)).append("\n");
    std::erase_if(names, [](char c) { return c >= '0' && c <= '9'; });
    return names;
}

std::size_t IdleWaits::depth(NodeId leaf) const {
    std::size_t functions = 0;
    for (NodeId node = stories_.teller_of(leaf); node != 0; node = stories_.teller_of(profile_.nodes[node].parent))
        ++functions;
    return functions;
}

void IdleWaits::add(const NamedCount& count) {
    Sum& sum = sums_[threads_of(count.node)][depth(count.node)];
    sum.weight += count.weight;
    sum.looks += count.hits;
    leaves_.insert(count.node);
}

bool IdleWaits::is_in_work(NodeId leaf) const {
    const auto threads = sums_.find(threads_of(leaf));
    if (threads == sums_.end()) return false;
    std::uint64_t all = 0, weight = 0, looks = 0;
    for (const auto& [depth_of, sum] : threads->second) all += sum.weight;
    for (const auto& [loop, sum] : threads->second) {
        weight += sum.weight;
        looks += sum.looks;
        if (looks >= least_looks_at_loop && static_cast<double>(weight) >= least_of_loop * static_cast<double>(all))
            return depth(leaf) >= loop + levels_deeper;
    }
    return false;
}

NodeId IdleWaits::place(NodeId leaf) const {
    if (!is_made_) {
        is_made_ = true;
        for (const NodeId one : leaves_) {
            if (is_in_work(one)) continue;
            for (NodeId node = stories_.teller_of(one); node != 0;
                 node = stories_.teller_of(profile_.nodes[node].parent))
                waits_for_work_.insert(profile_.function_of(node));
        }
    }
    const NodeId nearest = stories_.teller_of(leaf);
    for (NodeId node = nearest; node != 0; node = stories_.teller_of(profile_.nodes[node].parent))
        if (!waits_for_work_.contains(profile_.function_of(node))) return node;
    return nearest;
}

}  // namespace flameprobe

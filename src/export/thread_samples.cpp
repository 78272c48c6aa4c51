#include "export/thread_samples.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "export/text.hpp"

namespace flameprobe {

namespace {

/// For each node its number in a walk from the root that visits children by id.
std::vector<std::uint32_t> walk_order(const std::vector<NamedNode>& nodes) {
    std::vector<NodeId> first_child(nodes.size()), next_sibling(nodes.size());
    for (auto node = nodes.size(); node-- > 1;)
        next_sibling[node] = std::exchange(first_child[nodes[node].parent], static_cast<NodeId>(node));
    std::vector<std::uint32_t> order(nodes.size());
    std::uint32_t number = 0;
    for (NodeId node = nodes.empty() ? 0 : first_child[0]; node != 0;) {
        order[node] = ++number;
        if (first_child[node] != 0) {
            node = first_child[node];
            continue;
        }
        while (node != 0 && next_sibling[node] == 0) node = nodes[node].parent;
        if (node != 0) node = next_sibling[node];
    }
    return order;
}

std::string thread_name(const NamedProfile& profile, ThreadId id) {
    if (id >= profile.threads.size()) return "all threads";
    const Thread& thread = profile.threads[id];
    const std::string name = one_line(thread.name);
    if (thread.tid == 0) return name.empty() ? "unnamed thread" : name;
    const std::string tid = std::to_string(thread.tid);
    return name.empty() ? "thread " + tid : name + " (" + tid + ")";
}

}  // namespace

std::vector<ThreadSamples> samples_by_thread(const AllEvents& events) {
    const NamedProfile& profile = events.tables();
    const auto order = walk_order(profile.nodes);
    std::vector<ThreadSamples> result;
    for (const AllEvents::Part& part : events.parts()) {
        std::map<ThreadId, ThreadSamples> threads;
        for (std::size_t at = part.begin; at < part.end; ++at) {
            const NamedCount& count = profile.counts[at];
            if (count.weight == 0) continue;
            ThreadSamples& samples = threads[count.thread];
            samples.weight += count.weight;
            samples.counts.push_back(&count);
        }
        for (auto& [id, samples] : threads) {
            samples.thread = id;
            samples.event = part.event;
            samples.name = thread_name(profile, id);
            if (part.event != events.parts().front().event) samples.name += ", " + part.event->run.event;
            std::stable_sort(samples.counts.begin(), samples.counts.end(),
                             [&](auto a, auto b) { return order[a->node] < order[b->node]; });
            result.push_back(std::move(samples));
        }
    }
    return result;
}

std::vector<ThreadSamples>::const_iterator busiest_thread(const std::vector<ThreadSamples>& threads) {
    auto end = threads.begin();
    while (end != threads.end() && end->event == threads.front().event) ++end;
    return std::max_element(threads.begin(), end, [](const auto& a, const auto& b) { return a.weight < b.weight; });
}

}  // namespace flameprobe

#include "export/all_events.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "export/text.hpp"

namespace flameprobe {

namespace {

std::string thread_name(const NamedProfile& profile, ThreadId id) {
    if (id >= profile.threads.size()) return "all threads";
    const Thread& thread = profile.threads[id];
    const std::string name = one_line(thread.name);
    if (thread.tid == 0) return name.empty() ? "unnamed thread" : name;
    const std::string tid = std::to_string(thread.tid);
    return name.empty() ? "thread " + tid : name + " (" + tid + ")";
}

}  // namespace

AllEvents::AllEvents(const NamedProfile& profile) {
    if (profile.others.empty()) {
        parts_.push_back({&profile, 0, profile.counts.size()});
        return;
    }
    joined_.nodes.resize(1);
    joined_.has_run = profile.has_run;
    joined_.run = profile.run;
    joined_.summary = profile.summary;
    joined_.threads = profile.threads;
    joined_.mappings = profile.mappings;
    joined_.locations = profile.locations;
    joined_.warnings = profile.warnings;
    join(profile);
    for (const NamedProfile& other : profile.others) join(other);
}

void AllEvents::join(const NamedProfile& event) {
    std::vector<FunctionId> function_of;
    for (const Function& function : event.functions) function_of.push_back(functions_.add(function, event.strings));
    const auto first_frame = static_cast<FrameId>(joined_.frames.size());
    for (const NamedFrame& frame : event.frames)
        joined_.frames.push_back({function_of[frame.function], frame.line, frame.location});
    const auto before_nodes = static_cast<NodeId>(joined_.nodes.size()) - 1;  // the root is shared
    for (NodeId id = 1; id < event.nodes.size(); ++id) {
        const NamedNode& node = event.nodes[id];
        joined_.nodes.push_back({node.parent == 0 ? 0 : node.parent + before_nodes, node.frame + first_frame});
    }
    const std::size_t begin = joined_.counts.size();
    for (NamedCount count : event.counts) {
        if (count.node != 0) count.node += before_nodes;
        joined_.counts.push_back(count);
    }
    parts_.push_back({&event, begin, joined_.counts.size()});
}

std::vector<ThreadSamples> samples_by_thread(const AllEvents& events) {
    const NamedProfile& profile = events.tables();
    std::vector<std::uint32_t> order(profile.nodes.size());
    std::uint32_t entered = 0;
    walk_nodes(
        profile.nodes, [&](NodeId node) { order[node] = ++entered; }, [](NodeId) {});
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
            std::ranges::stable_sort(samples.counts, [&](auto a, auto b) { return order[a->node] < order[b->node]; });
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

#include "export/all_events.hpp"

#include <functional>
#include <unordered_map>

namespace flameprobe {

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
    std::unordered_map<Function, FunctionId, FunctionHash> known;
    for (FunctionId id = 0; id < joined_.functions.size(); ++id) known.emplace(joined_.functions[id], id);
    const auto text = [&](StringId id) { return joined_.strings.intern(event.strings.view(id)); };
    std::vector<FunctionId> function_of;
    for (const Function& function : event.functions) {
        const Function here{text(function.name), text(function.file), function.line, text(function.module),
                            function.kind};
        const auto [entry, is_new] = known.try_emplace(here, static_cast<FunctionId>(joined_.functions.size()));
        if (is_new) joined_.functions.push_back(here);
        function_of.push_back(entry->second);
    }
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

}  // namespace flameprobe

#include "render/call_tree.hpp"

#include <algorithm>
#include <optional>

#include "render/box_walk.hpp"
#include "render/thread_groups.hpp"

namespace flameprobe {

namespace {

class TreeSink {
public:
    std::uint32_t open(const NewBox& box) {
        tree.depth = std::max(tree.depth, box.depth);
        tree.boxes.push_back(
            {box.parent, box.depth, box.kind, box.function, box.gathered, box.start, box.total, 0, box.hits});
        return static_cast<std::uint32_t>(tree.boxes.size() - 1);
    }
    void node(std::uint32_t /*box*/, NodeId /*node*/) {}
    void self(std::uint32_t box, std::uint64_t weight) { tree.boxes[box].self = weight; }
    bool full() const { return false; }

    CallTree tree;
};

std::optional<std::uint64_t> sum_of(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) {
        if (__builtin_add_overflow(all, count.weight, &all)) return std::nullopt;
    }
    return all;
}

}  // namespace

Result<std::uint64_t> weight_to_draw(const NamedProfile& profile) {
    const auto all = sum_of(profile);
    if (!all) return Error{"the profile's counts add up to more than 2^64"};
    if (*all == 0) return Error{"no samples: there is nothing to draw"};
    return *all;
}

Result<CallTree> build_call_tree(const NamedProfile& profile, const CallTreeOptions& options) {
    const auto all = weight_to_draw(profile);
    if (!all) return all.error();
    const ShortenedStacks shortened = shorten_deep_stacks(profile, options.most_frames);
    const StackSet set =
        shortened.shortened ? StackSet{shortened.nodes, shortened.counts} : StackSet{profile.nodes, profile.counts};
    const StackIndex stacks(set, options.reverse);
    TreeSink sink;
    GatheredThreads threads =
        options.gather_threads ? gather_threads(profile) : GatheredThreads{shown_functions(profile), {}};
    BoxWalk(profile, stacks, *all, options.min_width, std::move(threads.shown), sink).run();
    sink.tree.names = std::move(threads.names);
    sink.tree.deepest_stack = shortened.deepest;
    return std::move(sink.tree);
}

}  // namespace flameprobe

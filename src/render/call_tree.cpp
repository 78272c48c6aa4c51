#include "render/call_tree.hpp"

#include <algorithm>
#include <limits>

#include "render/box_walk.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

namespace {

constexpr NodeId none = std::numeric_limits<NodeId>::max();

std::vector<std::uint32_t> depths_of(const std::vector<NamedNode>& nodes) {
    std::vector<std::uint32_t> depths(nodes.size());
    for (std::size_t id = 1; id < nodes.size(); ++id) depths[id] = depths[nodes[id].parent] + 1;
    return depths;
}

class StackShortener {
public:
    StackShortener(const NamedProfile& profile, const std::vector<std::uint32_t>& depths, std::uint32_t most,
                   ShortenedStacks& out)
        : profile_(profile), depths_(depths), head_(most / 2), tail_(most - most / 2 - 1), out_(out) {
        copied_.assign(profile.nodes.size(), none);
        copied_[0] = 0;
        out_.nodes.push_back({});
    }

    NodeId shorten(NodeId leaf) {
        if (depths_[leaf] <= head_ + tail_ + 1) return copy(leaf);
        path_.clear();
        NodeId at = leaf;
        for (std::uint32_t i = 0; i < tail_; ++i, at = profile_.nodes[at].parent)
            path_.push_back(profile_.nodes[at].frame);
        while (depths_[at] > head_) at = profile_.nodes[at].parent;
        NodeId node = child(copy(at), static_cast<FrameId>(profile_.frames.size()));
        for (auto frame = path_.rbegin(); frame != path_.rend(); ++frame) node = child(node, *frame);
        return node;
    }

private:
    NodeId copy(NodeId node) {
        std::vector<NodeId> missing;
        for (; copied_[node] == none; node = profile_.nodes[node].parent) missing.push_back(node);
        NodeId made = copied_[node];
        for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
            made = child(made, profile_.nodes[*next].frame);
            copied_[*next] = made;
        }
        return made;
    }
    NodeId child(NodeId parent, FrameId frame) { return children_.child(out_.nodes, parent, frame); }

    const NamedProfile& profile_;
    const std::vector<std::uint32_t>& depths_;
    std::uint32_t head_;
    std::uint32_t tail_;
    ShortenedStacks& out_;
    std::vector<NodeId> copied_;
    std::vector<FrameId> path_;
    NodeIndex children_;
};

class TreeSink {
public:
    std::uint32_t open(const NewBox& box) {
        tree.depth = std::max(tree.depth, box.depth);
        tree.boxes.push_back({box.parent, box.depth, box.kind, box.function, box.gathered, box.start, box.total, 0,
                              box.hits, box.depth});
        return static_cast<std::uint32_t>(tree.boxes.size() - 1);
    }
    void node(std::uint32_t /*box*/, NodeId /*node*/) {}
    void self(std::uint32_t box, std::uint64_t weight) { tree.boxes[box].self = weight; }
    bool full() const { return false; }

    CallTree tree;
};

}  // namespace

ShortenedStacks shorten_deep_stacks(const NamedProfile& profile, std::uint32_t most) {
    ShortenedStacks out;
    const auto depths = depths_of(profile.nodes);
    for (const NamedCount& count : profile.counts)
        if (count.weight > 0) out.deepest = std::max(out.deepest, depths[count.node]);
    if (out.deepest <= most || most < 3) return out;
    out.shortened = true;
    StackShortener shortener(profile, depths, most, out);
    for (const NamedCount& count : profile.counts) {
        if (count.weight > 0)
            out.counts.push_back({shortener.shorten(count.node), count.thread, count.weight, count.hits});
    }
    return out;
}

Result<std::uint64_t> weight_to_draw(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts)
        if (__builtin_add_overflow(all, count.weight, &all))
            return Error{"the profile's counts add up to more than 2^64"};
    if (all == 0) return Error{"no samples: there is nothing to draw"};
    return all;
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
    BoxWalk(profile, stacks, *all, options.min_width, std::move(threads.shown), sink, options.by_weight).run();
    sink.tree.names = std::move(threads.names);
    sink.tree.deepest_stack = shortened.deepest;
    return std::move(sink.tree);
}

}  // namespace flameprobe

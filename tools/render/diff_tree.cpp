#include <unordered_map>

#include "diff_pictures.hpp"

namespace flameprobe {

namespace {

constexpr std::uint32_t most_frames = 256;  // as in an ordinary picture

/// Finds the box in which a stack ends, in the same way as the stacks were merged into boxes.
class BoxFinder {
public:
    BoxFinder(const NamedProfile& profile, const CallTree& tree, bool reverse) : profile_(profile), reverse_(reverse) {
        for (std::uint32_t id = 1; id < tree.boxes.size(); ++id)
            child_[key(tree.boxes[id].parent, kind_key(tree.boxes[id]))] = id;
    }

    std::uint32_t box_of(NodeId leaf) {
        path_.clear();
        for (NodeId node = leaf; node != 0; node = profile_.nodes[node].parent)
            path_.push_back(profile_.nodes[node].frame);
        std::uint32_t box = 0;
        for (std::size_t i = 0; i < path_.size(); ++i) {
            const FrameId frame = path_[reverse_ ? i : path_.size() - 1 - i];
            const std::uint32_t wanted = frame < profile_.frames.size() ? profile_.frames[frame].function : omitted;
            auto found = child_.find(key(box, wanted));
            const bool narrow = found == child_.end();
            if (narrow) found = child_.find(key(box, gathered));
            if (found == child_.end()) return box;
            box = found->second;
            if (narrow) return box;
        }
        return box;
    }

private:
    static constexpr std::uint32_t omitted = ~0u, gathered = ~0u - 1;

    static std::uint32_t kind_key(const Box& box) {
        return box.kind == BoxKind::function ? box.function : box.kind == BoxKind::omitted ? omitted : gathered;
    }
    static std::uint64_t key(std::uint32_t parent, std::uint32_t of) { return std::uint64_t{parent} << 32 | of; }

    const NamedProfile& profile_;
    const bool reverse_;
    std::unordered_map<std::uint64_t, std::uint32_t> child_;
    std::vector<FrameId> path_;
};

}  // namespace

Result<DiffTree> build_diff_tree(ProfileDiff& diff, bool reverse, double min_width) {
    ShortenedStacks shortened = shorten_deep_stacks(diff.profile, most_frames);
    if (shortened.shortened) {
        diff.profile.nodes = std::move(shortened.nodes);
        diff.profile.counts = std::move(shortened.counts);  // in the same order: none has weight 0
    }
    auto tree = build_call_tree(diff.profile, {.reverse = reverse, .min_width = min_width, .most_frames = most_frames});
    if (!tree) return tree.error();
    DiffTree result{std::move(*tree), {}};
    if (shortened.shortened) result.tree.deepest_stack = shortened.deepest;
    result.shares.resize(result.tree.boxes.size());
    BoxFinder finder(diff.profile, result.tree, reverse);
    for (std::size_t i = 0; i < diff.profile.counts.size(); ++i) {
        result.shares[finder.box_of(diff.profile.counts[i].node)].self +=
            {diff.before[i], diff.after[i], diff.variance_before[i], diff.variance_after[i]};
    }
    for (std::size_t id = result.shares.size(); id-- > 0;) {  // a parent comes before its children
        BoxShares& shares = result.shares[id];
        shares.total += shares.self;
        if (id != 0) result.shares[result.tree.boxes[id].parent].total += shares.total;
    }
    return result;
}

}  // namespace flameprobe

#include "render/call_tree.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

namespace flameprobe {

namespace {

/// Weights and children of the stacks' trie, in arrays; in a reversed tree a node's one "child" is its caller.
class Stacks {
public:
    Stacks(const StackSet& set, bool reverse) : nodes_(set.nodes), totals_(set.nodes.size()), reverse_(reverse) {
        for (const NamedCount& count : set.counts) totals_[count.node] += count.weight;
        if (reverse_) return;
        for (std::size_t id = nodes_.size() - 1; id > 0; --id) totals_[nodes_[id].parent] += totals_[id];
        // Counting sort by parent: ends_[p] moves from the end of p's children to their beginning.
        ends_.resize(nodes_.size() + 1);
        for (std::size_t id = 1; id < nodes_.size(); ++id) ++ends_[nodes_[id].parent];
        for (std::size_t id = 1; id < ends_.size(); ++id) ends_[id] += ends_[id - 1];
        children_.resize(nodes_.size() - 1);
        for (auto id = static_cast<NodeId>(nodes_.size() - 1); id > 0; --id) children_[--ends_[nodes_[id].parent]] = id;
    }

    struct Entry {
        NodeId node = 0;
        std::uint64_t weight = 0;
    };

    FrameId frame(const Entry& entry) const { return nodes_[entry.node].frame; }

    void add_first(std::vector<Entry>& out) const {
        if (!reverse_) return add_next({0, 0}, out);
        for (NodeId id = 1; id < nodes_.size(); ++id) {
            if (totals_[id] > 0) out.push_back({id, totals_[id]});
        }
    }
    void add_next(const Entry& entry, std::vector<Entry>& out) const {
        if (reverse_) {
            const NodeId caller = nodes_[entry.node].parent;
            if (caller != 0) out.push_back({caller, entry.weight});
            return;
        }
        for (auto at = ends_[entry.node]; at < ends_[entry.node + 1]; ++at) {
            const NodeId child = children_[at];
            if (totals_[child] > 0) out.push_back({child, totals_[child]});
        }
    }

private:
    std::span<const NamedNode> nodes_;
    std::vector<std::uint64_t> totals_;
    std::vector<std::uint32_t> ends_;
    std::vector<NodeId> children_;
    bool reverse_;
};

/// Entries of one function below one box: a box to be.
struct Group {
    FunctionId function = 0;
    std::uint32_t parent = 0;
    std::uint32_t gathered = 0;  // not 0: so many siblings, which are not expanded
    std::uint64_t start = 0;
    std::uint64_t weight = 0;
    std::size_t first = 0;  // its entries in the arena: up to the arena's end when its turn comes
    std::size_t size = 0;
};

class Builder {
public:
    /// `places` may be null.
    Builder(const NamedProfile& profile, const Stacks& stacks, std::uint64_t all, double min_width, BoxOfNode* places)
        : profile_(profile),
          stacks_(stacks),
          omitted_(static_cast<FunctionId>(profile.functions.size())),
          least_(min_width > 0 ? static_cast<double>(all) * std::min(min_width, 100.0) / 100 : 0),
          slots_(profile.functions.size() + 1, no_group),
          places_(places) {
        tree_.boxes.push_back({.kind = BoxKind::all, .total = all});
    }

    CallTree build() {
        stacks_.add_first(next_);
        expand(0);
        while (!pending_.empty()) {
            const Group group = pending_.back();
            pending_.pop_back();
            const std::uint32_t depth = tree_.boxes[group.parent].depth + 1;
            tree_.depth = std::max(tree_.depth, depth);
            const auto box = static_cast<std::uint32_t>(tree_.boxes.size());
            if (group.gathered > 0) {
                tree_.boxes.push_back(
                    {group.parent, depth, BoxKind::gathered, 0, group.gathered, group.start, group.weight, 0});
                continue;
            }
            const BoxKind kind = group.function == omitted_ ? BoxKind::omitted : BoxKind::function;
            tree_.boxes.push_back({group.parent, depth, kind, group.function, 0, group.start, group.weight, 0});
            for (std::size_t at = group.first; at < group.first + group.size; ++at) {
                stacks_.add_next(arena_[at], next_);
                if (places_ != nullptr) places_->box[arena_[at].node] = box;
            }
            arena_.resize(group.first);
            expand(box);
        }
        return std::move(tree_);
    }

private:
    static constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

    FunctionId function_of(const Stacks::Entry& entry) const {
        const FrameId frame = stacks_.frame(entry);
        return frame < profile_.frames.size() ? profile_.frames[frame].function : omitted_;
    }

    auto order(FunctionId id) const {
        const Function function = id == omitted_ ? Function{.kind = FrameKind::note} : profile_.functions[id];
        const auto text = [&](StringId string) { return profile_.strings.view(string); };
        return std::make_tuple(text(function.name), function.kind, text(function.module), text(function.file),
                               function.line, id);
    }

    /// Groups next_ by function and puts the groups on the stack of what is to come, last name first.
    void expand(std::uint32_t box) {
        groups_.clear();
        std::uint64_t below = 0;
        for (const auto& entry : next_) {
            std::uint32_t& slot = slots_[function_of(entry)];
            if (slot == no_group) {
                slot = static_cast<std::uint32_t>(groups_.size());
                groups_.push_back({.function = function_of(entry), .parent = box});
            }
            groups_[slot].weight += entry.weight;
            ++groups_[slot].size;
            below += entry.weight;
        }
        for (const Group& group : groups_) slots_[group.function] = no_group;
        tree_.boxes[box].self = tree_.boxes[box].total - below;
        const auto narrow = std::partition(groups_.begin(), groups_.end(), [&](const Group& group) {
            return static_cast<double>(group.weight) >= least_;
        });
        Group gathered{.parent = box, .gathered = static_cast<std::uint32_t>(groups_.end() - narrow)};
        for (auto group = narrow; group != groups_.end(); ++group) gathered.weight += group->weight;
        groups_.erase(narrow, groups_.end());
        std::sort(groups_.begin(), groups_.end(),
                  [&](const Group& a, const Group& b) { return order(a.function) < order(b.function); });
        place(tree_.boxes[box].start, gathered);
        next_.clear();
    }

    void place(std::uint64_t start, Group& gathered) {
        for (Group& group : groups_) {
            group.start = start;
            start += group.weight;
        }
        gathered.start = start;
        if (gathered.gathered > 0) pending_.push_back(gathered);
        // The first name must be last in the arena, too: its entries are cut off as soon as they are expanded.
        std::size_t first = arena_.size();
        for (std::size_t at = groups_.size(); at-- > 0;) {
            groups_[at].first = first;
            first += groups_[at].size;
            slots_[groups_[at].function] = static_cast<std::uint32_t>(at);
        }
        arena_.resize(first);
        for (const auto& entry : next_) {
            const std::uint32_t slot = slots_[function_of(entry)];
            if (slot != no_group) arena_[groups_[slot].first++] = entry;
        }
        for (std::size_t at = groups_.size(); at-- > 0;) {
            slots_[groups_[at].function] = no_group;
            groups_[at].first -= groups_[at].size;
            pending_.push_back(groups_[at]);
        }
    }

    const NamedProfile& profile_;
    const Stacks& stacks_;
    FunctionId omitted_;
    double least_;
    CallTree tree_;
    std::vector<Group> pending_;
    std::vector<Stacks::Entry> arena_;  // entries of the pending groups
    std::vector<Stacks::Entry> next_;   // entries below the box in hand
    std::vector<Group> groups_;
    std::vector<std::uint32_t> slots_;  // by function: its place in groups_
    BoxOfNode* places_;
};

std::optional<std::uint64_t> sum_of(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) {
        if (__builtin_add_overflow(all, count.weight, &all)) return std::nullopt;
    }
    return all;
}

Result<std::uint64_t> weight_to_draw(const NamedProfile& profile) {
    const auto all = sum_of(profile);
    if (!all) return Error{"the profile's counts add up to more than 2^64"};
    if (*all == 0) return Error{"no samples: there is nothing to draw"};
    return *all;
}

/// Nodes that were not expanded are in the gathered box of the last one that was.
void place_gathered(const NamedProfile& profile, const CallTree& tree, BoxOfNode& places) {
    std::vector<std::uint32_t> gathered_above(tree.boxes.size(), BoxOfNode::no_box);
    for (std::uint32_t box = 0; box < tree.boxes.size(); ++box) {
        if (tree.boxes[box].kind != BoxKind::gathered) continue;
        gathered_above[box] = box;
        gathered_above[tree.boxes[box].parent] = box;
    }
    places.box[0] = 0;
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
        const std::uint32_t below = places.box[profile.nodes[node].parent];
        if (places.box[node] == BoxOfNode::no_box && below != BoxOfNode::no_box)
            places.box[node] = gathered_above[below];
    }
}

}  // namespace

Result<CallTree> build_call_tree(const NamedProfile& profile, const CallTreeOptions& options) {
    const auto all = weight_to_draw(profile);
    if (!all) return all.error();
    const ShortenedStacks shortened = shorten_deep_stacks(profile, options.most_frames);
    const StackSet set =
        shortened.shortened ? StackSet{shortened.nodes, shortened.counts} : StackSet{profile.nodes, profile.counts};
    const Stacks stacks(set, options.reverse);
    CallTree tree = Builder(profile, stacks, *all, options.min_width, nullptr).build();
    tree.deepest_stack = shortened.deepest;
    return tree;
}

Result<CallTree> build_call_tree(const NamedProfile& profile, double min_width, BoxOfNode& places) {
    const auto all = weight_to_draw(profile);
    if (!all) return all.error();
    const Stacks stacks({profile.nodes, profile.counts}, false);
    places.box.assign(profile.nodes.size(), BoxOfNode::no_box);
    CallTree tree = Builder(profile, stacks, *all, min_width, &places).build();
    place_gathered(profile, tree, places);
    tree.deepest_stack = tree.depth;
    return tree;
}

}  // namespace flameprobe

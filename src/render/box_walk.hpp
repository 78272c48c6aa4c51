// Walks the boxes of a flame graph, one after the other, and hands each to a sink.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "profile/names.hpp"
#include "render/call_tree.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

/// Weights and children of the stacks' trie, in arrays; in a reversed tree a node's one "child" is its caller.
class StackIndex {
public:
    StackIndex(const StackSet& set, bool reverse) : nodes_(set.nodes), totals_(set.nodes.size()), reverse_(reverse) {
        const bool has_heavy_hits =
            std::ranges::any_of(set.counts, [](const NamedCount& count) { return count.hits != count.weight; });
        if (has_heavy_hits) hits_.resize(nodes_.size());
        for (const NamedCount& count : set.counts) {
            totals_[count.node] += count.weight;
            if (has_heavy_hits) hits_[count.node] = add_saturated(hits_[count.node], count.hits);
            all_hits_ = add_saturated(all_hits_, count.hits);
        }
        if (reverse_) return;
        for (std::size_t id = nodes_.size() - 1; id > 0; --id) {
            totals_[nodes_[id].parent] += totals_[id];
            if (has_heavy_hits) hits_[nodes_[id].parent] = add_saturated(hits_[nodes_[id].parent], hits_[id]);
        }
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
        std::uint64_t hits = 0;
    };

    std::uint64_t all_hits() const { return all_hits_; }

    FrameId frame(const Entry& entry) const { return nodes_[entry.node].frame; }

    void add_first(std::vector<Entry>& out) const {
        if (!reverse_) return add_next({}, out);
        for (NodeId id = 1; id < nodes_.size(); ++id) {
            if (totals_[id] > 0) out.push_back({id, totals_[id], hits(id)});
        }
    }
    void add_next(const Entry& entry, std::vector<Entry>& out) const {
        if (reverse_) {
            const NodeId caller = nodes_[entry.node].parent;
            if (caller != 0) out.push_back({caller, entry.weight, entry.hits});
            return;
        }
        for (auto at = ends_[entry.node]; at < ends_[entry.node + 1]; ++at) {
            const NodeId child = children_[at];
            if (totals_[child] > 0) out.push_back({child, totals_[child], hits(child)});
        }
    }

private:
    std::uint64_t hits(NodeId id) const { return hits_.empty() ? totals_[id] : hits_[id]; }

    std::span<const NamedNode> nodes_;
    std::vector<std::uint64_t> totals_;
    std::vector<std::uint64_t> hits_;  // empty: each is a weight of one, as in folded text, so totals_ has them
    std::uint64_t all_hits_ = 0;
    std::vector<std::uint32_t> ends_;
    std::vector<NodeId> children_;
    bool reverse_;
};

/// The facts of a box when the walk opens it.
struct NewBox {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;
    BoxKind kind = BoxKind::function;
    FunctionId function = 0;     // the shown one, of functions that look alike (shown_functions())
    std::uint32_t gathered = 0;  // not 0: the box stands for this many siblings, which are not expanded
    std::uint64_t start = 0;
    std::uint64_t total = 0;
    std::uint64_t hits = 0;
};

/// Merges stacks by function and walks the boxes depth first, children by name. Code without a name that calls code
/// without a name is one box, since a row for each frame would say nothing more. The sink has
///   std::uint32_t open(const NewBox&)                   a box; returns its number. The root is opened first.
///   void node(std::uint32_t box, NodeId)                a node of the stacks that the box stands for
///   void self(std::uint32_t box, std::uint64_t weight)  samples that ended in it, before its children are opened
///   bool full()                                         true ends the walk
/// Memory grows with the pending boxes, not with those that have been opened.
template <class Sink>
class BoxWalk {
public:
    /// `shown`: for each function the one that is shown in its place, as shown_functions() gives.
    BoxWalk(const NamedProfile& profile, const StackIndex& stacks, std::uint64_t all, double min_width,
            std::vector<FunctionId> shown, Sink& sink, bool by_weight = false)
        : profile_(profile),
          stacks_(stacks),
          omitted_(static_cast<FunctionId>(profile.functions.size())),
          least_(min_width > 0 ? static_cast<double>(all) * std::min(min_width, 100.0) / 100 : 0),
          shown_(std::move(shown)),
          ranks_(ranks_by_name(profile)),
          slots_(profile.functions.size() + 1, no_group),
          sink_(sink),
          by_weight_(by_weight) {
        shown_.push_back(omitted_);
        for (std::uint32_t& rank : ranks_) ++rank;
        ranks_.push_back(0);
        for (const Function& function : profile.functions)
            nameless_.push_back(is_nameless(profile.strings.view(function.name)));
        const NewBox root{.kind = BoxKind::all, .total = all, .hits = stacks.all_hits()};
        expand(root, sink_.open(root), true);
    }

    void run() {
        while (!pending_.empty() && !sink_.full()) {
            const Group group = pending_.back();
            pending_.pop_back();
            const std::uint32_t id = sink_.open(group.box);
            if (group.box.kind == BoxKind::gathered) continue;
            for (std::size_t at = group.first; at < group.first + group.size; ++at) {
                stacks_.add_next(arena_[at], next_);
                sink_.node(id, arena_[at].node);
            }
            arena_.resize(group.first);
            expand(group.box, id, false);
        }
    }

private:
    static constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

    /// Entries of one function below one box, which will become a box.
    struct Group {
        NewBox box;
        std::size_t first = 0;  // its first entry in the arena; its entries end at the arena's end when it is expanded
        std::size_t size = 0;
    };

    FunctionId function_of(const StackIndex::Entry& entry) const {
        const FrameId frame = stacks_.frame(entry);
        return frame < profile_.frames.size() ? shown_[profile_.frames[frame].function] : omitted_;
    }

    /// Replaces entries of the box's own function by what is next to them.
    void join_nameless(const NewBox& box, std::uint32_t id) {
        if (box.kind != BoxKind::function || !nameless_[box.function]) return;
        for (std::size_t at = 0; at < next_.size();) {
            const auto entry = next_[at];
            if (function_of(entry) != box.function) {
                ++at;
                continue;
            }
            next_[at] = next_.back();
            next_.pop_back();
            sink_.node(id, entry.node);
            stacks_.add_next(entry, next_);
        }
    }

    std::string_view name(FunctionId function) const {
        return profile_.strings.view(profile_.functions[function].name);
    }
    bool is_thread(FunctionId function) const {
        return function != omitted_ && profile_.functions[function].kind == FrameKind::thread;
    }
    /// "postgres" in "postgres: walwriter 4711".
    static bool is_named_after(std::string_view process, std::string_view thread) {
        constexpr std::size_t longest = 15;  // of the kernel's names of threads
        if (thread.empty() || !process.starts_with(thread)) return false;
        return thread.size() == longest || process.substr(thread.size()).find_first_of(": ") == 0;
    }
    /// A process whose threads all have its own name is told once: they are its box.
    void join_own_threads(const NewBox& box, std::uint32_t id) {
        if (!profile_.process_first || box.depth != 1 || box.kind != BoxKind::function || !is_thread(box.function))
            return;
        const bool own = std::ranges::all_of(next_, [&](const auto& entry) {
            const FunctionId function = function_of(entry);
            return is_thread(function) && is_named_after(name(box.function), name(function));
        });
        if (!own) return;
        for (const auto& thread : std::exchange(next_, {})) {
            sink_.node(id, thread.node);
            stacks_.add_next(thread, next_);
        }
    }

    /// Groups next_ by function and pushes the groups onto the stack of pending ones, last name first.
    void expand(const NewBox& box, std::uint32_t id, bool first) {
        if (first) stacks_.add_first(next_);
        join_nameless(box, id);
        join_own_threads(box, id);
        groups_.clear();
        std::uint64_t below = 0;
        for (const auto& entry : next_) {
            const FunctionId function = function_of(entry);
            std::uint32_t& slot = slots_[function];
            if (slot == no_group) {
                slot = static_cast<std::uint32_t>(groups_.size());
                const BoxKind kind = function == omitted_ ? BoxKind::omitted : BoxKind::function;
                groups_.push_back({{.parent = id, .depth = box.depth + 1, .kind = kind, .function = function}});
            }
            groups_[slot].box.total += entry.weight;
            groups_[slot].box.hits = add_saturated(groups_[slot].box.hits, entry.hits);
            ++groups_[slot].size;
            below += entry.weight;
        }
        for (const Group& group : groups_) slots_[group.box.function] = no_group;
        sink_.self(id, box.total - below);
        const auto narrow = std::partition(groups_.begin(), groups_.end(), [&](const Group& group) {
            return static_cast<double>(group.box.total) >= least_;
        });
        Group gathered{{.parent = id,
                        .depth = box.depth + 1,
                        .kind = BoxKind::gathered,
                        .gathered = static_cast<std::uint32_t>(groups_.end() - narrow)}};
        for (auto group = narrow; group != groups_.end(); ++group) {
            gathered.box.total += group->box.total;
            gathered.box.hits = add_saturated(gathered.box.hits, group->box.hits);
        }
        groups_.erase(narrow, groups_.end());
        std::ranges::sort(groups_, {}, [&](const Group& group) { return ranks_[group.box.function]; });
        if (by_weight_ || (id == 0 && profile_.process_first)) {
            // [preempted], [lost] and other notes come last, even the heaviest: a reader looks for functions.
            std::ranges::stable_sort(groups_, std::ranges::greater{}, [&](const Group& group) {
                return std::pair(!is_no_code(group.box.function), group.box.total);
            });
        }
        place(box.start, gathered);
        next_.clear();
    }

    bool is_no_code(FunctionId id) const {
        if (id >= profile_.functions.size() || profile_.functions[id].kind != FrameKind::note) return false;
        const Role role = role_of_note(profile_.strings.view(profile_.functions[id].name));
        return role == Role::note || role == Role::preempted;
    }

    void place(std::uint64_t start, Group& gathered) {
        for (Group& group : groups_) {
            group.box.start = start;
            start += group.box.total;
        }
        gathered.box.start = start;
        if (gathered.box.gathered > 0) pending_.push_back(gathered);
        // The first name must be last in the arena, too: a group's entries are removed from the end as soon as it is
        // expanded.
        std::size_t first = arena_.size();
        for (std::size_t at = groups_.size(); at-- > 0;) {
            groups_[at].first = first;
            first += groups_[at].size;
            slots_[groups_[at].box.function] = static_cast<std::uint32_t>(at);
        }
        arena_.resize(first);
        for (const auto& entry : next_) {
            const std::uint32_t slot = slots_[function_of(entry)];
            if (slot != no_group) arena_[groups_[slot].first++] = entry;
        }
        for (std::size_t at = groups_.size(); at-- > 0;) {
            slots_[groups_[at].box.function] = no_group;
            groups_[at].first -= groups_[at].size;
            pending_.push_back(groups_[at]);
        }
    }

    const NamedProfile& profile_;
    const StackIndex& stacks_;
    FunctionId omitted_;
    double least_;
    std::vector<FunctionId> shown_;
    std::vector<std::uint32_t> ranks_;
    std::vector<bool> nameless_;  // by function
    std::vector<Group> pending_;
    std::vector<StackIndex::Entry> arena_;  // entries of the pending groups
    std::vector<StackIndex::Entry> next_;   // entries below the current box
    std::vector<Group> groups_;
    std::vector<std::uint32_t> slots_;  // by function: its place in groups_
    Sink& sink_;
    bool by_weight_;
};

}  // namespace flameprobe

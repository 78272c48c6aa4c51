#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "export/output.hpp"
#include "export/profile_tables.hpp"
#include "export/text.hpp"
#include "outside/byte_stream.hpp"
#include "profile/task_event.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

namespace {

/// Which functions are processes (--tree), which are always below other frames: their "name pid" is not changed.
std::vector<bool> processes(const NamedProfile& profile) {
    std::vector<bool> found(profile.functions.size());
    for (NodeId id = 1; profile.process_first && id < profile.nodes.size(); ++id) {
        if (profile.nodes[id].parent == 0) found[profile.function_of(id)] = true;
    }
    return found;
}

/// Stacks whose frames have equal texts are one node here, whatever functions, lines and threads they came from. Nodes
/// are in the order of their texts, so a parent may come later; the same profile always gives the same tree. And no
/// neighbour interrupts a frame's subtree, such as `a.cold`, which as text sorts between `a` and `a;b`.
class TextTree {
public:
    explicit TextTree(const NamedProfile& profile) {
        const std::vector<const std::uint32_t*> text_of = add_texts(profile);
        std::vector<NodeId> merged(std::max<std::size_t>(profile.nodes.size(), 1));
        NodeIndex index;
        for (NodeId node = 1; node < profile.nodes.size(); ++node)
            merged[node] = index.child(nodes, merged[profile.nodes[node].parent], *text_of[profile.function_of(node)]);
        self.resize(nodes.size());
        for (const NamedCount& count : profile.counts) self[merged[count.node]] += count.weight;
        sort();
    }

    const std::string& text(NodeId node) const { return *texts_[nodes[node].frame]; }

    std::vector<NamedNode> nodes{1};  // frame: an index of texts_
    std::vector<std::uint64_t> self;  // weight of the samples that end in each

private:
    /// Gives for each function the place of its text.
    std::vector<const std::uint32_t*> add_texts(const NamedProfile& profile) {
        const std::vector<bool> is_process = processes(profile);
        std::vector<const std::uint32_t*> text_of;
        for (const Function& function : profile.functions) {
            const bool may_end_stack = !is_process[text_of.size()];
            std::string text = folded_name(profile.strings.view(function.name), function.kind, may_end_stack);
            text_of.push_back(&places_.try_emplace(std::move(text)).first->second);
        }
        for (auto& [text, place] : places_) {
            place = static_cast<std::uint32_t>(texts_.size());
            texts_.push_back(&text);
        }
        return text_of;
    }

    void sort() {
        std::vector<NodeId> order(nodes.size()), new_id(nodes.size());
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin() + 1, order.end(), [&](NodeId a, NodeId b) { return nodes[a].frame < nodes[b].frame; });
        for (NodeId id = 0; id < order.size(); ++id) new_id[order[id]] = id;
        const auto old_nodes = std::exchange(nodes, {});
        const auto old_self = std::exchange(self, {});
        for (const NodeId old : order) {
            nodes.push_back({new_id[old_nodes[old].parent], old_nodes[old].frame});
            self.push_back(old_self[old]);
        }
    }

    std::map<std::string, std::uint32_t> places_;
    std::vector<const std::string*> texts_;  // in order
};

/// Folded text has CPU time in periods, as perf's samples are counted, and waiting time in microseconds, as other tools
/// write it.
std::uint64_t unit_of(const NamedProfile& profile) {
    return counts_passed_time(profile.run) ? 1000 : sampling_period_ns(profile.run);
}

/// Rounds weights so that the sum of any lines that follow one another, and so of any subtree, is right within one.
class WholeUnits {
public:
    explicit WholeUnits(std::uint64_t unit) : unit_(unit) {}

    std::uint64_t take(std::uint64_t weight) {
        sum_ += weight % unit_;
        const std::uint64_t due = (sum_ + unit_ / 2) / unit_ - given_;
        given_ += due;
        return weight / unit_ + due;
    }

private:
    const std::uint64_t unit_;
    std::uint64_t sum_ = 0, given_ = 0;  // of what is less than a unit
};

}  // namespace

void write_folded(const NamedProfile& profile, const ByteSink& out) {
    const TextTree tree(profile);
    WholeUnits counts(unit_of(profile));
    std::string piece, line;
    std::vector<std::size_t> sizes;  // of the line before each frame of the path
    const auto enter = [&](NodeId node) {
        sizes.push_back(line.size());
        if (!line.empty()) line += ';';
        line += tree.text(node);
        const std::uint64_t count = counts.take(tree.self[node]);
        if (count == 0) return;
        piece += line;
        piece += ' ';
        piece += std::to_string(count);
        piece += '\n';
        if (piece.size() < piece_size) return;
        out(piece);
        piece.clear();
    };
    const auto leave = [&](NodeId) {
        line.resize(sizes.back());
        sizes.pop_back();
    };
    walk_nodes(tree.nodes, enter, leave);
    if (!piece.empty()) out(piece);
}

}  // namespace flameprobe

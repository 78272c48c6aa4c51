#include "render/function_totals.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "symbolize/raw_profile.hpp"

namespace flameprobe {

namespace {

/// Children of each node, one after the other.
struct Children {
    std::vector<std::uint32_t> begin;
    std::vector<NodeId> nodes;

    explicit Children(const NamedProfile& profile) : begin(profile.nodes.size() + 1), nodes(profile.nodes.size()) {
        const auto& all = profile.nodes;
        for (NodeId id = 1; id < all.size(); ++id) ++begin[all[id].parent + 1];
        for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
        for (NodeId id = 1; id < all.size(); ++id) nodes[next[all[id].parent]++] = id;
    }
};

/// Walks the trie with an explicit stack (profiles may be deeper than recursion allows), and adds a node's weight to
/// its function unless the function is already on the path.
class Walk {
public:
    Walk(const NamedProfile& profile, Totals& totals)
        : profile_(profile), children_(profile), of_(shown_functions(profile)), open_(profile.functions.size()) {
        totals.functions.resize(profile.functions.size());
        weigh(totals);
        std::vector<std::uint32_t> next(children_.begin.begin(), children_.begin.end() - 1);
        for (NodeId at = 0;;) {
            if (next[at] < children_.begin[at + 1]) {
                at = children_.nodes[next[at]++];
                enter(at, totals);
            } else if (at == 0) {
                return;
            } else {
                --open_[function(at)];
                at = profile.nodes[at].parent;
            }
        }
    }
    const std::vector<FunctionId>& representative() const { return of_; }

private:
    FunctionId function(NodeId node) const { return of_[profile_.function_of(node)]; }

    void weigh(Totals& totals) {
        self_.resize(profile_.nodes.size());
        for (const NamedCount& count : profile_.counts) self_[count.node].add({count.weight, count.hits});
        total_ = self_;
        if (profile_.has_ages) age();
        for (std::size_t id = profile_.nodes.size() - 1; id > 0; --id) {  // a parent comes before its children
            const NodeId parent = profile_.nodes[id].parent;
            if (profile_.has_ages) ages_[parent].add(total_[parent].weight, ages_[id], total_[id].weight);
            total_[parent].add(total_[id]);
        }
        totals.samples = total_[0].weight;
    }
    void age() {
        std::vector<std::uint64_t> before(self_.size());
        ages_.resize(self_.size());
        for (const NamedCount& count : profile_.counts) {
            ages_[count.node].add(before[count.node], count.age, count.weight);
            before[count.node] = add_saturated(before[count.node], count.weight);
        }
    }
    void enter(NodeId node, Totals& totals) {
        const FunctionId id = function(node);
        FunctionTotal& sum = totals.functions[id];
        sum.self = add_saturated(sum.self, self_[node].weight);
        sum.self_hits = add_saturated(sum.self_hits, self_[node].hits);
        if (open_[id]++ > 0) return;
        if (!ages_.empty()) sum.age.add(sum.total, ages_[node], total_[node].weight);
        sum.total = add_saturated(sum.total, total_[node].weight);
        sum.total_hits = add_saturated(sum.total_hits, total_[node].hits);
    }

    const NamedProfile& profile_;
    Children children_;
    std::vector<FunctionId> of_;
    std::vector<std::uint32_t> open_;  // how often each function is on the path
    std::vector<Amount> self_, total_;
    std::vector<Age> ages_;  // of `total_`; empty: not known
};

}  // namespace

Totals function_totals(const NamedProfile& profile) {
    Totals totals;
    if (profile.nodes.empty()) return totals;
    const Walk walk(profile, totals);
    std::vector<FunctionTotal> kept;
    for (FunctionId id = 0; id < totals.functions.size(); ++id) {
        const bool shown = walk.representative()[id] == id && profile.functions[id].kind != FrameKind::thread;
        if (!shown || totals.functions[id].total == 0) continue;
        kept.push_back(totals.functions[id]);
        kept.back().function = id;
    }
    totals.functions = std::move(kept);
    return totals;
}

std::vector<FunctionId> shown_functions(const NamedProfile& profile) {
    std::map<std::tuple<StringId, StringId, FrameKind>, FunctionId> first;
    std::vector<FunctionId> of;
    of.reserve(profile.functions.size());
    for (FunctionId id = 0; id < profile.functions.size(); ++id) {
        const Function& function = profile.functions[id];
        of.push_back(first.try_emplace({function.name, function.module, function.kind}, id).first->second);
    }
    return of;
}

std::vector<std::uint32_t> ranks_by_name(const NamedProfile& profile) {
    std::vector<FunctionId> order(profile.functions.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](FunctionId id) {
        const Function& function = profile.functions[id];
        const auto text = [&](StringId string) { return profile.strings.view(string); };
        return std::make_tuple(text(function.name), function.kind, text(function.module), text(function.file),
                               function.line, id);
    };
    std::ranges::sort(order, [&](FunctionId a, FunctionId b) { return key(a) < key(b); });
    std::vector<std::uint32_t> ranks(order.size());
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
    return ranks;
}

}  // namespace flameprobe

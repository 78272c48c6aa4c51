#include "render/function_totals.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/number.hpp"

namespace flameprobe {

namespace {

/// Adds a node's weight to its row unless the row is already on the path.
class Walk {
public:
    Walk(const NamedProfile& profile, const std::vector<std::uint32_t>& row_of, std::vector<FunctionTotal>& rows)
        : profile_(profile), row_of_(row_of), rows_(rows), open_(rows.size()) {
        weigh();
        walk_nodes(
            profile.nodes, [&](NodeId node) { enter(node); }, [&](NodeId node) { --open_[row_of_[node]]; });
    }

private:
    void weigh() {
        self_.resize(profile_.nodes.size());
        for (const NamedCount& count : profile_.counts) self_[count.node].add({count.weight, count.hits});
        total_ = self_;
        if (profile_.has_ages) age();
        for (std::size_t id = profile_.nodes.size() - 1; id > 0; --id) {  // a parent comes before its children
            const NodeId parent = profile_.nodes[id].parent;
            if (profile_.has_ages) ages_[parent].add(total_[parent].weight, ages_[id], total_[id].weight);
            total_[parent].add(total_[id]);
        }
    }
    void age() {
        std::vector<std::uint64_t> before(self_.size());
        ages_.resize(self_.size());
        for (const NamedCount& count : profile_.counts) {
            ages_[count.node].add(before[count.node], count.age, count.weight);
            before[count.node] = add_saturated(before[count.node], count.weight);
        }
    }
    void enter(NodeId node) {
        FunctionTotal& sum = rows_[row_of_[node]];
        sum.self = add_saturated(sum.self, self_[node].weight);
        sum.self_hits = add_saturated(sum.self_hits, self_[node].hits);
        if (open_[row_of_[node]]++ > 0) return;
        if (!ages_.empty()) sum.age.add(sum.total, ages_[node], total_[node].weight);
        sum.total = add_saturated(sum.total, total_[node].weight);
        sum.total_hits = add_saturated(sum.total_hits, total_[node].hits);
    }

    const NamedProfile& profile_;
    const std::vector<std::uint32_t>& row_of_;
    std::vector<FunctionTotal>& rows_;
    std::vector<std::uint32_t> open_;  // how often each row is on the path
    std::vector<Amount> self_, total_;
    std::vector<Age> ages_;  // of `total_`; empty: not known
};

}  // namespace

std::vector<FunctionTotal> sums_of_rows(const NamedProfile& profile, const std::vector<std::uint32_t>& row_of,
                                        std::size_t rows) {
    std::vector<FunctionTotal> sums(rows);
    if (!profile.nodes.empty()) Walk(profile, row_of, sums);
    return sums;
}

Totals function_totals(const NamedProfile& profile) {
    Totals totals;
    if (profile.nodes.empty()) return totals;
    const std::vector<FunctionId> shown = shown_functions(profile);
    std::vector<std::uint32_t> row_of(profile.nodes.size());
    for (NodeId node = 1; node < row_of.size(); ++node) row_of[node] = shown[profile.function_of(node)];
    const std::vector<FunctionTotal> sums = sums_of_rows(profile, row_of, profile.functions.size());
    totals.samples = total_weight(profile);
    for (FunctionId id = 0; id < sums.size(); ++id) {
        if (shown[id] != id || profile.functions[id].kind == FrameKind::thread || sums[id].total == 0) continue;
        totals.functions.push_back(sums[id]);
        totals.functions.back().function = id;
    }
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

namespace {

/// "worker-*" of "worker-12", "pool-*-io" of "pool-3-io"; the name itself if it has no number behind its first letter.
std::string pattern_of(const std::string& name) {
    const auto last = std::find_if(name.rbegin(), name.rend(), is_digit);
    if (last == name.rend()) return name;
    const auto first = std::find_if_not(last, name.rend(), is_digit);
    if (first == name.rend()) return name;
    return std::string(name.begin(), first.base()) + "*" + std::string(last.base(), name.end());
}

}  // namespace

std::map<FunctionId, std::string> thread_groups(const NamedProfile& profile, const std::set<FunctionId>& threads) {
    const auto name = [&](FunctionId id) { return std::string(profile.strings.view(profile.functions[id].name)); };
    std::map<std::string, std::set<std::string>> members;
    for (const FunctionId id : threads) members[pattern_of(name(id))].insert(name(id));
    std::map<FunctionId, std::string> groups;
    for (const FunctionId id : threads) {
        std::string pattern = pattern_of(name(id));
        const std::size_t together = members[pattern].size();
        if (together < 2 || pattern == name(id)) continue;
        // As ProcessNames has it of more.
        if (pattern.ends_with(" *")) pattern.replace(pattern.size() - 1, 1, "× " + std::to_string(together));
        groups.emplace(id, std::move(pattern));
    }
    return groups;
}

void merge_threads(NamedProfile& profile) {
    std::set<FunctionId> threads;
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
        const FunctionId id = profile.function_of(node);
        const bool thread = profile.functions[id].kind == FrameKind::thread;
        if (thread || (!profile.has_run && profile.nodes[node].parent == 0)) threads.insert(id);
    }
    for (const auto& [id, group] : thread_groups(profile, threads))
        profile.functions[id].name = profile.strings.intern(group);
}

GatheredThreads gather_threads(const NamedProfile& profile) {
    GatheredThreads made{shown_functions(profile), {}};
    std::set<FunctionId> used;
    for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
        const FunctionId id = profile.function_of(node);
        if (profile.functions[id].kind == FrameKind::thread) used.insert(made.shown[id]);
    }
    std::map<std::string, FunctionId> first;
    std::map<FunctionId, FunctionId> member_of;
    for (const auto& [id, group] : thread_groups(profile, used))
        member_of[id] = first.try_emplace(group, id).first->second;
    for (const auto& [group, id] : first) made.names[id] = group;
    for (FunctionId& id : made.shown)
        if (const auto found = member_of.find(id); found != member_of.end()) id = found->second;
    return made;
}

}  // namespace flameprobe

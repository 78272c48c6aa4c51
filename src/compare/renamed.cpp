#include "compare/renamed.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr double least_told = 0.005;  // of the whole: of less, callers and callees are hardly known
constexpr double alike = 0.8;         // of the time
constexpr double most_factor = 3;     // between the parts of the whole

/// By name, the parts of a function's time.
using Parts = std::map<std::string, double, std::less<>>;

/// What is known of a function that one side only has.
struct Surroundings {
    double part = 0;         // of the whole
    double own = 0;          // of its time, what it does itself
    Parts callers, callees;  // those that both sides have by name, others by the last part of theirs
    bool has_known_callee = false;
};
using Singles = std::map<std::string, Surroundings, std::less<>>;

/// "clone" of `<orders::Order as core::clone::Clone>::clone`.
std::string last_part(std::string_view name) {
    const std::string brief = short_name(name);
    const std::size_t at = brief.rfind("::");
    return at == brief.npos ? brief : brief.substr(at + 2);
}

class SingleFunctions {
public:
    SingleFunctions(NamedSide& side, const std::unordered_set<std::string_view>& others)
        : side_(side), profile_(side.profile()), others_(others), weight_(profile_.nodes.size()) {
        is_single_.resize(profile_.functions.size());
        for (FunctionId id = 0; id < is_single_.size(); ++id) {
            const FrameKind kind = profile_.functions[id].kind;
            is_single_[id] = side.place(id) == NamePlace::function && !others.contains(side.name(id)) &&
                             (kind == FrameKind::user || kind == FrameKind::inlined) && !side.name(id).starts_with('[');
        }
    }

    /// Those with enough of the time.
    Singles find() {
        for (const NamedCount& count : profile_.counts) weight_[count.node] += static_cast<double>(count.weight);
        const std::vector<double> own = weight_;
        double all = 0;
        for (auto node = static_cast<NodeId>(weight_.size()); node-- > 1;) {  // a parent comes before its children
            if (profile_.nodes[node].parent == 0) all += weight_[node];
            weight_[profile_.nodes[node].parent] += weight_[node];
        }
        std::unordered_map<std::string_view, Surroundings> by_name;
        for (NodeId node = 1; node < weight_.size(); ++node) {
            if (weight_[node] == 0 || !has_function(node)) continue;
            const NodeId parent = profile_.nodes[node].parent;
            const FunctionId id = profile_.function_of(node);
            const bool recursion = has_function(parent) && side_.name(profile_.function_of(parent)) == side_.name(id);
            if (is_single_[id]) add(by_name[side_.name(id)], node, parent, own[node], recursion);
            if (!has_function(parent) || recursion || !is_single_[profile_.function_of(parent)]) continue;
            Surroundings& caller = by_name[side_.name(profile_.function_of(parent))];
            caller.callees[key(id)] += weight_[node];
            if (others_.contains(side_.name(id))) caller.has_known_callee = true;
        }
        Singles singles;
        for (auto& [name, its] : by_name) {
            if (all <= 0 || its.part < least_told * all) continue;
            for (auto* const parts : {&its.callers, &its.callees})
                for (auto& [other, weight] : *parts) weight /= its.part;
            its.own /= its.part;
            its.part /= all;
            singles.emplace(name, std::move(its));
        }
        return singles;
    }

private:
    bool has_function(NodeId node) const { return node != 0 && profile_.nodes[node].frame < profile_.frames.size(); }
    std::string key(FunctionId id) const {
        return is_single_[id] ? last_part(side_.name(id)) : std::string(side_.name(id));
    }
    void add(Surroundings& its, NodeId node, NodeId parent, double own, bool recursion) {
        its.own += own;
        if (recursion) return;
        its.part += weight_[node];
        if (has_function(parent)) its.callers[key(profile_.function_of(parent))] += weight_[node];
    }

    NamedSide& side_;
    NamedProfile& profile_;
    const std::unordered_set<std::string_view>& others_;
    std::vector<double> weight_;  // of each node, with what is on it
    std::vector<bool> is_single_;
};

/// What both have in common, from 0 to 1.
double common_part(const Parts& one, const Parts& other) {
    double sum = 0;
    for (const auto& [name, part] : one)
        if (const auto found = other.find(name); found != other.end()) sum += std::min(part, found->second);
    return sum;
}

/// 0: they are not taken for one.
double likeness_of(std::string_view name, const Surroundings& before, std::string_view now, const Surroundings& after) {
    const bool same_name = last_part(name) == last_part(now);
    if (!same_name && !(before.has_known_callee && after.has_known_callee)) return 0;
    const double factor = std::max(before.part, after.part) / std::min(before.part, after.part);
    if (factor > most_factor) return 0;
    const double callers =
        before.callers.empty() && after.callers.empty() ? 1 : common_part(before.callers, after.callers);
    const double below = common_part(before.callees, after.callees) + std::min(before.own, after.own);
    // Of a name that differs in more than its prefix the callees decide, not that both do much themselves.
    const double known = same_name ? 1 : common_part(before.callees, after.callees);
    if (callers < alike || below < alike || known < 0.2) return 0;
    return callers * below / factor + (same_name ? 1 : 0);
}

}  // namespace

std::vector<std::string> join_renamed(NamedSide& before, NamedSide& after) {
    const std::unordered_set<std::string_view> names[] = {before.names(NamePlace::function),
                                                          after.names(NamePlace::function)};
    SingleFunctions one(before, names[1]), other(after, names[0]);
    const Singles gone = one.find();
    if (gone.empty()) return {};
    struct Pair {
        double likeness;
        std::string before, after;
    };
    std::vector<Pair> pairs;
    for (const auto& [now, its] : other.find())
        for (const auto& [name, old] : gone)
            if (const double like = likeness_of(name, old, now, its); like > 0) pairs.push_back({like, name, now});
    std::ranges::stable_sort(pairs, std::ranges::greater(), &Pair::likeness);
    std::map<std::string, std::string, std::less<>> renamed;
    std::vector<std::string> taken, leads;
    for (const Pair& pair : pairs) {
        if (renamed.contains(pair.before) || std::ranges::find(taken, pair.after) != taken.end()) continue;
        renamed.emplace(pair.before, pair.after);
        taken.push_back(pair.after);
        leads.push_back(clean_text(pair.after) + " may be " + clean_text(pair.before) +
                        " renamed: same callers and callees");
    }
    before.rename_all(NamePlace::function, [&](std::string_view name) {
        const auto found = renamed.find(name);
        return found == renamed.end() ? std::string(name) : found->second;
    });
    return leads;
}

}  // namespace flameprobe

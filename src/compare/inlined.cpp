#include "compare/inlined.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "render/describe.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

/// One side, and which of its functions the other lacks.
class InlinedSide {
public:
    explicit InlinedSide(NamedProfile& profile) : profile_(profile) {
        used_.resize(profile.functions.size());
        for (const NamedCount& count : profile.counts)
            for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent)
                if (has_function(node)) used_[profile.function_of(node)] = true;
    }

    std::unordered_set<std::string_view> names() const {
        std::unordered_set<std::string_view> names;
        for (FunctionId id = 0; id < used_.size(); ++id)
            if (used_[id]) names.insert(name(id));
        return names;
    }
    void find_single(const std::unordered_set<std::string_view>& others) {
        single_.resize(used_.size());
        for (FunctionId id = 0; id < used_.size(); ++id) {
            const FrameKind kind = profile_.functions[id].kind;
            const bool inlines = kind == FrameKind::user || kind == FrameKind::inlined;
            single_[id] = used_[id] && inlines && !name(id).starts_with('[') && !others.contains(name(id));
        }
        holder_.resize(profile_.nodes.size());
        for (NodeId node = 1; node < holder_.size(); ++node)
            holder_[node] = is_single(node) ? holder_[profile_.nodes[node].parent] : node;
        const double all = std::max(1.0, static_cast<double>(total_weight(profile_)));
        for (const NamedCount& count : profile_.counts) {
            const NodeId holder = holder_[count.node];
            if (holder == 0 || !has_function(holder)) continue;
            Own& own = own_[name(profile_.function_of(holder))];
            const double part = static_cast<double>(count.weight) / all;
            own.all += part;
            if (is_single(count.node)) own.single += part;
        }
    }

    struct Own {
        double all = 0,
               single = 0;  // parts of the whole: its own time with what only this side has below it; the latter
    };
    using Owns = std::unordered_map<std::string_view, Own>;
    const Owns& own() const { return own_; }

    /// Takes single functions out below those with these names. Returns their time by name.
    std::map<std::string, double> take_out(const std::unordered_set<std::string_view>& below) {
        std::map<std::string, double> taken;
        const double all = std::max(1.0, static_cast<double>(total_weight(profile_)));
        std::vector<NodeId> now(profile_.nodes.size());
        for (NodeId node = 1; node < now.size(); ++node) {
            const NodeId holder = holder_[node];
            const bool out =
                is_single(node) && has_function(holder) && below.contains(name(profile_.function_of(holder)));
            NodeId& parent = profile_.nodes[node].parent;
            parent = now[parent];
            now[node] = out ? parent : node;
        }
        for (NamedCount& count : profile_.counts) {
            if (now[count.node] == count.node) continue;
            taken[std::string(name(profile_.function_of(count.node)))] += static_cast<double>(count.weight) / all;
            count.node = now[count.node];
        }
        return taken;
    }

private:
    bool has_function(NodeId node) const { return node != 0 && profile_.nodes[node].frame < profile_.frames.size(); }
    bool is_single(NodeId node) const { return has_function(node) && single_[profile_.function_of(node)]; }
    std::string_view name(FunctionId id) const { return profile_.strings.view(profile_.functions[id].name); }

    NamedProfile& profile_;
    std::vector<bool> used_, single_;
    std::vector<NodeId> holder_;  // of each node, the nearest from it to the root that both sides have
    Owns own_;
};

std::string taken_words(const std::map<std::string, double>& taken, const char* side) {
    constexpr std::size_t most = 3;
    std::vector<std::pair<double, std::string>> heaviest;
    double whole = 0;
    for (const auto& [name, part] : taken) heaviest.emplace_back(part, name), whole += part;
    std::ranges::sort(heaviest, std::greater());
    std::string text;
    for (std::size_t at = 0; at < std::min(most, heaviest.size()); ++at)
        text += (at == 0 ? "" : ", ") + clean_text(short_name(heaviest[at].second));
    return "inlined on one side only, and part of its caller: " + percent_text(whole, 1) + " of the time " + side +
           ", in " + text + (heaviest.size() > most ? " and " + count_text(heaviest.size() - most) + " more" : "");
}

}  // namespace

std::vector<std::string> join_inlined(NamedProfile& before, NamedProfile& after) {
    constexpr double least = 0.005;  // of the whole: less may be chance
    std::array<InlinedSide, 2> sides = {InlinedSide(before), InlinedSide(after)};
    const std::array<std::unordered_set<std::string_view>, 2> names = {sides[0].names(), sides[1].names()};
    for (const std::size_t side : {0, 1}) sides[side].find_single(names[1 - side]);
    std::unordered_set<std::string_view> below;
    for (const std::size_t side : {0, 1}) {
        for (const auto& [name, own] : sides[side].own()) {
            const auto found = sides[1 - side].own().find(name);
            const InlinedSide::Own other = found == sides[1 - side].own().end() ? InlinedSide::Own{} : found->second;
            const double moved = std::abs((own.all - own.single) - (other.all - other.single));
            if (moved >= least && std::abs(own.all - other.all) < moved / 2) below.insert(name);
        }
    }
    std::vector<std::string> remarks;
    if (below.empty()) return remarks;
    for (const std::size_t side : {0, 1})
        if (const auto taken = sides[side].take_out(below); !taken.empty())
            remarks.push_back(taken_words(taken, side == 0 ? "before" : "after"));
    return remarks;
}

}  // namespace flameprobe

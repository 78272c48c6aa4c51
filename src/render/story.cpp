#include "render/story.hpp"

#include <algorithm>
#include <utility>

#include "profile/names.hpp"
#include "render/function_totals.hpp"
#include "render/plain_name.hpp"
#include "render/story_parts.hpp"

namespace flameprobe {

namespace {

constexpr double says_nothing = .85;  // a function that has so much of all that is known, as main has
constexpr double one_story = .7;      // a callee with so much of its caller goes on with its story
constexpr double some_own = .05;
constexpr double calls_itself = .5;  // of a function, below its own callee

}  // namespace

StoryTeller::StoryTeller(const NamedProfile& profile)
    : profile_(profile), roles_(function_roles(profile)), shown_(shown_functions(profile)) {
    child_.resize(profile.nodes.size());
    sibling_.resize(profile.nodes.size());
    for (auto id = static_cast<NodeId>(profile.nodes.size()); id-- > 1;)
        sibling_[id] = std::exchange(child_[profile.nodes[id].parent], id);
    left_.self.resize(profile.nodes.size());
    left_.self_hits.resize(profile.nodes.size());
    for (const NamedCount& count : profile.counts) {
        left_.self[count.node] += count.weight;
        left_.self_hits[count.node] += count.hits;
    }
    left_.sum_up(profile.nodes);
    all_ = left_;
    if (profile.nodes.empty()) return;
    weight_ = all_.total[0];
    hits_ = all_.total_hits[0];
    const auto tell = [&](Role role) {
        for (FunctionId id = 0; id < profile.functions.size(); ++id) {
            const std::string_view name = profile.strings.view(profile.functions[id].name);
            // What a library inlined is its function's, as in tables.
            const bool inside = role == Role::library && profile.functions[id].kind == FrameKind::inlined;
            tells_[id] = tells_[id] || (roles_[id] == role && !inside && !is_stand_in(name) && !is_allocator(name));
        }
    };
    tells_.resize(profile.functions.size());
    tell(Role::own);
    std::uint64_t own = 0, notes = 0;
    std::vector<bool> known(profile.nodes.size());
    for (NodeId id = 1; id < profile.nodes.size(); ++id) {
        const bool before = known[profile.nodes[id].parent], now = tells_[profile.function_of(id)];
        known[id] = before || now;
        if (now && !before) own += all_.total[id];
        if (roles_[profile.function_of(id)] == Role::note) notes += all_.self[id];
    }
    known_ = weight_ - notes;
    own_ = is_part(own, some_own, known_);
    if (!own_) tell(Role::library);
    for (const Function& function : profile.functions)
        if (is_dispatch(profile.strings.view(function.name))) interpreters_.insert(function.module);
}

void StoryTeller::Weights::sum_up(const std::vector<NamedNode>& nodes) {
    total = self;
    total_hits = self_hits;
    for (std::size_t id = nodes.size(); id-- > 1;) {  // a parent comes before its children
        total[nodes[id].parent] += total[id];
        total_hits[nodes[id].parent] += total_hits[id];
    }
}

NodeId StoryTeller::teller_of(NodeId node) const {
    while (node != 0 && !tells_[profile_.function_of(node)]) node = profile_.nodes[node].parent;
    return node;
}

std::optional<Story> StoryTeller::next(std::uint64_t least_hits) {
    if (profile_.nodes.empty() || left_.total_hits[0] < least_hits) return std::nullopt;
    Story story;
    std::vector<NodeId> nodes = {0};
    std::uint64_t weight = left_.total[0];
    for (;;) {
        Parts callees;
        const StoryPart* other = nullptr;
        story.parts = parts_of(nodes, story.path);
        for (const StoryPart& part : story.parts) {
            if (part.hits < least_hits || part.kind == StoryPart::Kind::note) continue;
            const bool function = part.kind == StoryPart::Kind::function;
            if (function && tells_[part.function]) {
                callees.add(part);
            } else if (auto own = function ? below(part, story.path) : std::nullopt; own && own->hits >= least_hits) {
                callees.add(std::move(*own));
            } else if (auto named = named_below(part, story.path); !named.empty()) {
                for (StoryPart& one : named) callees.add(std::move(one));
            } else if (other == nullptr) {
                other = &part;
            }
        }
        std::vector<StoryPart> found = callees.take();
        const StoryPart* const best =
            found.empty() || found.front().kind != StoryPart::Kind::function ? nullptr : &found.front();
        const bool nothing_said = story.path.empty() || is_part(weight, says_nothing, known_);
        const bool on = best != nullptr && (nothing_said ? other == nullptr || best->weight >= other->weight
                                                         : is_part(best->weight, one_story, weight));
        if (on) {
            story.path.push_back(best->function);
            nodes = best->nodes;
            weight = best->weight;
            continue;
        }
        // What an earlier story came by is no story, but what it does beside that is.
        const bool told = !story.path.empty() && told_.contains(story.path.back());
        if (story.path.empty() || told) {
            if (other == nullptr) return std::nullopt;
            story = {.path = {},
                     .weight = other->weight,
                     .hits = other->hits,
                     .kind = other->kind,
                     .name = other->name,
                     .parts = {*other}};
        } else {
            finish(story);
        }
        leave_out(story);
        return story;
    }
}

/// The topmost frames of a function, wherever it was called.
std::vector<NodeId> StoryTeller::nodes_of(FunctionId function) const {
    std::vector<NodeId> nodes;
    std::vector<bool> inside(profile_.nodes.size());
    for (NodeId id = 1; id < profile_.nodes.size(); ++id) {
        const bool before = inside[profile_.nodes[id].parent], now = shown_[profile_.function_of(id)] == function;
        inside[id] = before || now;
        if (now && !before) nodes.push_back(id);
    }
    return nodes;
}

std::uint64_t StoryTeller::weight_of(const std::vector<NodeId>& nodes) const {
    std::uint64_t sum = 0;
    for (const NodeId node : nodes) sum += all_.total[node];
    return sum;
}

/// Of functions that call each other in turn the first one is the story.
void StoryTeller::cut_recursion(Path& path) const {
    const std::vector<NodeId> last = nodes_of(path.back());
    std::vector<bool> inside(profile_.nodes.size());
    for (const NodeId node : last) inside[node] = true;
    std::vector<bool> counted(profile_.nodes.size());
    for (std::size_t at = 0; at + 1 < path.size(); ++at) {
        std::fill(counted.begin(), counted.end(), false);
        std::uint64_t sum = 0;
        for (NodeId id = 1; id < profile_.nodes.size(); ++id) {
            const NodeId parent = profile_.nodes[id].parent;
            inside[id] = inside[id] || inside[parent];
            const bool now = inside[id] && shown_[profile_.function_of(id)] == path[at];
            if (now && !counted[parent]) sum += all_.total[id];
            counted[id] = counted[parent] || now;
        }
        if (!is_part(sum, calls_itself, weight_of(last))) continue;
        path.resize(at + 1);
        return;
    }
}

/// Its figures are those of the function wherever it was called, as in tables.
void StoryTeller::finish(Story& story) {
    told_.insert(story.path.begin(), story.path.end());
    const Path whole = story.path;
    cut_recursion(story.path);
    const std::vector<NodeId> nodes = nodes_of(story.path.back());
    story.weight = weight_of(nodes);
    for (const NodeId node : nodes) story.hits += all_.total_hits[node];
    story.name = plain_name(profile_, story.path.back());
    now_ = &all_;
    story.parts = parts_of(nodes, whole);
    now_ = &left_;
}

void StoryTeller::leave_out(const Story& story) {
    std::vector<bool> inside(profile_.nodes.size());
    if (story.path.empty())
        for (const NodeId node : story.parts.front().nodes) inside[node] = true;
    for (NodeId id = 1; id < profile_.nodes.size(); ++id) {
        const bool last = !story.path.empty() && shown_[profile_.function_of(id)] == story.path.back();
        const bool alone = story.path.empty() && story.parts.front().alone;
        inside[id] = inside[id] || last || (inside[profile_.nodes[id].parent] && !alone);
        if (inside[id]) left_.self[id] = left_.self_hits[id] = 0;
    }
    left_.sum_up(profile_.nodes);
}

}  // namespace flameprobe

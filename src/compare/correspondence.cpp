#include "compare/correspondence.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/paths.hpp"
#include "compare/like_names.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

enum class Place : std::uint8_t { unused, function, thread, process };

/// One side: what each of its functions is, and the names that are in its stacks.
class Side {
public:
    explicit Side(NamedProfile& profile) : profile_(profile) { find_places(); }

    NamedProfile& profile() { return profile_; }
    Place place(FunctionId id) const { return places_[id]; }
    std::string_view name(FunctionId id) const { return profile_.strings.view(profile_.functions[id].name); }
    void rename(FunctionId id, std::string_view name) { profile_.functions[id].name = profile_.strings.intern(name); }

    std::unordered_set<std::string_view> names(Place of) const {
        std::unordered_set<std::string_view> names;
        for (FunctionId id = 0; id < places_.size(); ++id)
            if (places_[id] == of) names.insert(name(id));
        return names;
    }
    void rename_all(Place of, const std::function<std::string(std::string_view)>& renamed) {
        for (FunctionId id = 0; id < places_.size(); ++id) {
            if (places_[id] != of) continue;
            if (const std::string now = renamed(name(id)); now != name(id)) rename(id, now);
        }
    }

private:
    void find_places() {
        places_.assign(profile_.functions.size(), Place::unused);
        std::vector<bool> used(profile_.nodes.size());
        for (const NamedCount& count : profile_.counts)
            for (NodeId node = count.node; node != 0 && !used[node]; node = profile_.nodes[node].parent)
                used[node] = true;
        const bool folded = !profile_.has_run, processes = folded && begins_with_processes(used);
        for (NodeId node = 1; node < profile_.nodes.size(); ++node) {
            const NodeId parent = profile_.nodes[node].parent;
            if (!used[node] || profile_.nodes[node].frame >= profile_.frames.size()) continue;
            const FunctionId id = profile_.function_of(node);
            const bool first = parent == 0, second = !first && profile_.nodes[parent].parent == 0;
            if (profile_.functions[id].kind == FrameKind::thread)
                places_[id] = first && profile_.process_first ? Place::process : Place::thread;
            else if (folded && first && places_[id] != Place::function)
                places_[id] = processes ? Place::process : Place::thread;
            else if (processes && second && places_[id] == Place::unused)
                places_[id] = Place::thread;
            else if (!first || !folded)
                places_[id] = Place::function;
        }
    }
    /// In folded text the first frame is the thread, or in all stacks the process, "nginx 4711".
    bool begins_with_processes(const std::vector<bool>& used) const {
        bool all = false;
        for (NodeId node = 1; node < profile_.nodes.size(); ++node) {
            if (!used[node] || profile_.nodes[node].parent != 0) continue;
            const std::string_view first = name(profile_.function_of(node));
            all = process_role(first) != first;
            if (!all) break;
        }
        return all;
    }

    NamedProfile& profile_;
    std::vector<Place> places_;
};

using Sides = std::array<Side, 2>;
using Names = std::unordered_set<std::string_view>;

/// Where names are on one side only, those with the same `key` on get one name.
std::size_t join_by(Sides& sides, Place of, const std::function<std::string(std::string_view)>& key) {
    std::array<Names, 2> names = {sides[0].names(of), sides[1].names(of)};
    std::map<std::string, std::array<std::vector<std::string>, 2>> groups;
    for (std::size_t at : {0, 1}) {
        for (const std::string_view name : names[at])
            if (!names[1 - at].contains(name))
                if (const std::string its = key(name); !its.empty()) groups[its][at].emplace_back(name);
    }
    std::map<std::string, std::string, std::less<>> renamed;
    for (auto& [its, members] : groups) {
        if (members[0].empty() || members[1].empty()) continue;
        const bool one = members[1].size() == 1 && !its.starts_with('[');
        const std::string& now = one ? members[1].front() : its;
        for (const auto& list : members)
            for (const std::string& name : list) renamed.emplace(name, now);
    }
    for (Side& side : sides) {
        side.rename_all(of, [&](std::string_view name) {
            const auto found = renamed.find(name);
            return found == renamed.end() ? std::string(name) : found->second;
        });
    }
    return renamed.size();
}

/// Numbers are left out where several names differ in them, on one side or between the sides.
void name_threads(Sides& sides) {
    // The roots of foreign text may be functions: what both sides have is left alone there.
    const bool folded = !sides[0].profile().has_run && !sides[1].profile().has_run;
    if (folded && sides[0].names(Place::thread) == sides[1].names(Place::thread)) return;
    std::map<std::string, std::set<std::string>> members;
    for (Side& side : sides)
        for (const std::string_view name : side.names(Place::thread)) members[thread_role(name)].emplace(name);
    for (Side& side : sides) {
        side.rename_all(Place::thread, [&](std::string_view name) {
            std::string role = thread_role(name);
            return members[role].size() > 1 ? role : std::string(name);
        });
    }
}

/// What runs under each thread or process of a side, by name: parts of its weight.
using Work = std::map<std::string, std::unordered_map<std::string_view, double>, std::less<>>;

Work work_of(Side& side, Place of) {
    NamedProfile& profile = side.profile();
    Work work;
    std::map<std::string, double, std::less<>> all;
    std::vector<std::string_view> path;
    for (const NamedCount& count : profile.counts) {
        path.clear();
        std::string root;
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            if (profile.nodes[node].frame >= profile.frames.size()) continue;
            const FunctionId id = profile.function_of(node);
            if (side.place(id) == of)
                root = side.name(id);
            else if (side.place(id) == Place::function)
                path.push_back(side.name(id));
        }
        if (root.empty() || path.empty()) continue;
        std::sort(path.begin(), path.end());
        path.erase(std::unique(path.begin(), path.end()), path.end());
        auto& its = work[root];
        for (const std::string_view name : path) its[name] += static_cast<double>(count.weight);
        all[root] += static_cast<double>(count.weight);
    }
    for (auto& [root, its] : work)
        for (auto& [name, weight] : its) weight /= all[root];
    return work;
}

/// From 0, nothing in common, to 1: the same functions for the same part of the time.
double likeness(const std::unordered_map<std::string_view, double>& one,
                const std::unordered_map<std::string_view, double>& other) {
    double common = 0, either = 0;
    for (const auto& [name, part] : one) {
        const auto found = other.find(name);
        const double its = found == other.end() ? 0 : found->second;
        common += std::min(part, its);
        either += std::max(part, its);
    }
    for (const auto& [name, part] : other)
        if (!one.contains(name)) either += part;
    return either > 0 ? common / either : 0;
}

/// Pairs what is on one side only by what it runs, the most alike first.
void pair_by_work(Sides& sides, Place of, const char* what, std::vector<std::string>& remarks) {
    constexpr double enough = 0.25;
    std::array<Names, 2> names = {sides[0].names(of), sides[1].names(of)};
    const auto has_single = [&](std::size_t at) {
        return std::ranges::any_of(names[at], [&](std::string_view name) { return !names[1 - at].contains(name); });
    };
    if (!has_single(0) || !has_single(1)) return;
    const std::array<Work, 2> work = {work_of(sides[0], of), work_of(sides[1], of)};
    struct Pair {
        double likeness;
        std::string before, after;
    };
    std::vector<Pair> pairs;
    for (const auto& [before, one] : work[0]) {
        if (names[1].contains(before)) continue;
        for (const auto& [after, other] : work[1]) {
            if (names[0].contains(after)) continue;
            if (const double like = likeness(one, other); like >= enough) pairs.push_back({like, before, after});
        }
    }
    std::ranges::stable_sort(pairs, [](const Pair& a, const Pair& b) { return a.likeness > b.likeness; });
    std::map<std::string, std::string, std::less<>> renamed;
    std::set<std::string> taken;
    for (const Pair& pair : pairs) {
        if (renamed.contains(pair.before) || taken.contains(pair.after)) continue;
        renamed.emplace(pair.before, pair.after);
        taken.insert(pair.after);
        remarks.push_back(std::string(what) + " " + clean_text(pair.before) + " before is taken for " +
                          clean_text(pair.after) + " after: they run the same functions");
    }
    sides[0].rename_all(of, [&](std::string_view name) {
        const auto found = renamed.find(name);
        return found == renamed.end() ? std::string(name) : found->second;
    });
}

double matched_part(Side& side, Side& other) {
    NamedProfile& profile = side.profile();
    const std::array<Names, 4> known = {Names{}, other.names(Place::function), other.names(Place::thread),
                                        other.names(Place::process)};
    double matched = 0, all = 0;
    for (const NamedCount& count : profile.counts) {
        bool whole = true;
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            if (profile.nodes[node].frame >= profile.frames.size()) continue;
            const FunctionId id = profile.function_of(node);
            const Place place = side.place(id);
            if (node != count.node && place == Place::function) continue;
            whole = whole && known[static_cast<std::size_t>(place)].contains(side.name(id));
        }
        all += static_cast<double>(count.weight);
        if (whole) matched += static_cast<double>(count.weight);
    }
    return all > 0 ? matched / all : 1;
}

/// Which builds of files ran, by the name of code without a name.
std::map<std::string, std::set<std::string>> builds_of(const NamedProfile& profile) {
    std::map<std::string, std::set<std::string>> builds;
    for (const FileBuild& file : file_builds(profile))
        builds["[" + std::string(base_name(file.path)) + "+"].insert(file.build_id);
    return builds;
}

/// An address tells which code it is only in the same build of its file.
void name_unnamed(Sides& sides) {
    const auto before = builds_of(sides[0].profile()), after = builds_of(sides[1].profile());
    const auto is_known = [&](std::string_view name) {
        const std::string file(name.substr(0, name.rfind("+0x") + 1));
        return before.contains(file) || after.contains(file);
    };
    const auto is_same = [&](std::string_view name) {
        const std::string file(name.substr(0, name.rfind("+0x") + 1));
        const auto one = before.find(file), other = after.find(file);
        return one != before.end() && other != after.end() && one->second == other->second && !one->second.contains("");
    };
    for (Side& side : sides) {
        side.rename_all(Place::function, [&](std::string_view name) {
            std::string file = unnamed_file(name);
            // Of folded text builds are not known.
            return file.empty() || !is_known(name) || is_same(name) ? std::string(name) : file;
        });
    }
    join_by(sides, Place::function,
            [&](std::string_view name) { return is_known(name) ? std::string() : unnamed_file(name); });
}

}  // namespace

void put_program_first(NamedProfile& profile) {
    const auto function = static_cast<FunctionId>(profile.functions.size());
    profile.functions.push_back({profile.strings.intern(program_name(profile.run)), 0, 0, 0, FrameKind::thread});
    profile.frames.push_back({function, 0, NamedFrame::no_location});
    if (profile.nodes.empty()) profile.nodes.emplace_back();
    for (NodeId id = 1; id < profile.nodes.size(); ++id) ++profile.nodes[id].parent;
    profile.nodes.insert(profile.nodes.begin() + 1, {0, static_cast<FrameId>(profile.frames.size() - 1)});
    for (NamedCount& count : profile.counts) ++count.node;
    profile.process_first = true;
}

Correspondence make_alike(NamedProfile& before, NamedProfile& after) {
    for (auto [one, other] : {std::pair(&before, &after), std::pair(&after, &before)})
        if (one->process_first && !other->process_first && other->has_run) put_program_first(*other);
    Sides sides = {Side(before), Side(after)};
    Correspondence found;
    for (Side& side : sides) {
        side.rename_all(Place::function, whole_function);
        side.rename_all(Place::process, process_role);
    }
    name_unnamed(sides);
    if (const std::size_t joined = join_by(sides, Place::function, loose_name); joined > 0)
        found.remarks.push_back(count_text(joined) +
                                " names are matched without template arguments, parameters and addresses");
    name_threads(sides);
    pair_by_work(sides, Place::process, "process", found.remarks);
    pair_by_work(sides, Place::thread, "thread", found.remarks);
    found.matched_before = matched_part(sides[0], sides[1]);
    found.matched_after = matched_part(sides[1], sides[0]);
    return found;
}

}  // namespace flameprobe

#include "compare/correspondence.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/paths.hpp"
#include "compare/inlined.hpp"
#include "compare/like_names.hpp"
#include "compare/named_side.hpp"
#include "compare/renamed.hpp"
#include "render/function_totals.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

using Sides = std::array<NamedSide, 2>;
using Names = std::unordered_set<std::string_view>;

/// Where names are on one side only, those with the same `key` on get one name.
std::size_t join_by(Sides& sides, NamePlace of, const std::function<std::string(std::string_view)>& key) {
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
    for (NamedSide& side : sides) {
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
    if (folded && sides[0].names(NamePlace::thread) == sides[1].names(NamePlace::thread)) return;
    std::map<std::string, std::set<std::string>> members;
    for (NamedSide& side : sides)
        for (const std::string_view name : side.names(NamePlace::thread)) members[thread_role(name)].emplace(name);
    for (NamedSide& side : sides) {
        side.rename_all(NamePlace::thread, [&](std::string_view name) {
            std::string role = thread_role(name);
            return members[role].size() > 1 ? role : std::string(name);
        });
    }
}

/// What runs under each thread or process of a side, by name: parts of its weight.
using Work = std::map<std::string, std::unordered_map<std::string_view, double>, std::less<>>;

Work work_of(NamedSide& side, NamePlace of) {
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
            else if (side.place(id) == NamePlace::function)
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
void pair_by_work(Sides& sides, NamePlace of, const char* what, std::vector<std::string>& remarks) {
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

/// What has so few samples that the other side may have none by chance counts as matched.
double matched_part(NamedSide& side, NamedSide& other) {
    constexpr double enough = 8;
    NamedProfile& profile = side.profile();
    const std::array<Names, 4> known = {Names{}, other.names(NamePlace::function), other.names(NamePlace::thread),
                                        other.names(NamePlace::process)};
    const double expected = static_cast<double>(total_hits(other.profile())) /
                            static_cast<double>(std::max<std::uint64_t>(1, total_hits(profile)));
    std::vector<bool> is_single(profile.functions.size());
    for (FunctionId id = 0; id < is_single.size(); ++id)
        is_single[id] = !known[static_cast<std::size_t>(side.place(id))].contains(side.name(id));
    std::unordered_map<FunctionId, std::array<double, 2>> single;  // weight, hits
    double all = 0;
    for (const NamedCount& count : profile.counts) {
        all += static_cast<double>(count.weight);
        for (NodeId node = count.node; node != 0; node = profile.nodes[node].parent) {
            if (profile.nodes[node].frame >= profile.frames.size()) continue;
            const FunctionId id = profile.function_of(node);
            if ((node != count.node && side.place(id) == NamePlace::function) || !is_single[id]) continue;
            single[id][0] += static_cast<double>(count.weight), single[id][1] += static_cast<double>(count.hits);
            break;
        }
    }
    double unmatched = 0;
    for (const auto& [id, its] : single)
        if (its[1] * expected >= enough) unmatched += its[0];
    return all > 0 ? 1 - unmatched / all : 1;
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
    for (NamedSide& side : sides) {
        side.rename_all(NamePlace::function, [&](std::string_view name) {
            std::string file = unnamed_file(name);
            // Of folded text builds are not known.
            return file.empty() || !is_known(name) || is_same(name) ? std::string(name) : file;
        });
    }
    join_by(sides, NamePlace::function,
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
    Sides sides = {NamedSide(before), NamedSide(after)};
    Correspondence found;
    for (NamedSide& side : sides) {
        side.rename_all(NamePlace::function, whole_function);
        side.rename_all(NamePlace::process, process_role);
    }
    name_unnamed(sides);
    if (const std::size_t joined = join_by(sides, NamePlace::function, loose_name); joined > 0)
        found.remarks.push_back(count_text(joined) +
                                " names are matched without template arguments, parameters and addresses");
    name_threads(sides);
    pair_by_work(sides, NamePlace::process, "process", found.remarks);
    pair_by_work(sides, NamePlace::thread, "thread", found.remarks);
    found.leads = join_renamed(sides[0], sides[1]);
    std::ranges::move(join_inlined(before, after), std::back_inserter(found.remarks));
    found.matched_before = matched_part(sides[0], sides[1]);
    found.matched_after = matched_part(sides[1], sides[0]);
    return found;
}

}  // namespace flameprobe

// One side of a comparison: what each of its functions is, and the names that are in its stacks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compare/like_names.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

enum class NamePlace : std::uint8_t { unused, function, thread, process };

class NamedSide {
public:
    explicit NamedSide(NamedProfile& profile) : profile_(profile) { find_places(); }

    NamedProfile& profile() { return profile_; }
    NamePlace place(FunctionId id) const { return places_[id]; }
    std::string_view name(FunctionId id) const { return profile_.strings.view(profile_.functions[id].name); }
    void rename(FunctionId id, std::string_view name) { profile_.functions[id].name = profile_.strings.intern(name); }

    std::unordered_set<std::string_view> names(NamePlace of) const {
        std::unordered_set<std::string_view> names;
        for (FunctionId id = 0; id < places_.size(); ++id)
            if (places_[id] == of) names.insert(name(id));
        return names;
    }
    void rename_all(NamePlace of, const std::function<std::string(std::string_view)>& renamed) {
        for (FunctionId id = 0; id < places_.size(); ++id) {
            if (places_[id] != of) continue;
            if (const std::string now = renamed(name(id)); now != name(id)) rename(id, now);
        }
    }

private:
    void find_places() {
        places_.assign(profile_.functions.size(), NamePlace::unused);
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
                places_[id] = first && profile_.process_first ? NamePlace::process : NamePlace::thread;
            else if (folded && first && places_[id] != NamePlace::function)
                places_[id] = processes ? NamePlace::process : NamePlace::thread;
            else if (processes && second && places_[id] == NamePlace::unused)
                places_[id] = NamePlace::thread;
            else if (!first || !folded)
                places_[id] = NamePlace::function;
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
    std::vector<NamePlace> places_;
};

}  // namespace flameprobe

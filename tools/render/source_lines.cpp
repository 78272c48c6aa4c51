#include <algorithm>
#include <map>
#include <unordered_map>

#include "page_sources.hpp"
#include "render/function_totals.hpp"

namespace flameprobe {

namespace {

/// A place in a function, or in one that was inlined there.
struct Place {
    Amount self, total;
    std::uint32_t counted = 0;  // the last stack that was added, plus one, so that recursion counts once
    std::map<std::pair<FunctionId, std::uint32_t>, Place> inlined;  // by function and line
};

using Places = std::map<std::uint32_t, Place>;  // by line

class Collector {
public:
    explicit Collector(const NamedProfile& profile) : profile_(profile), shown_(shown_functions(profile)) {}

    void add(std::uint32_t stack, const NamedCount& count) {
        path_.clear();
        for (NodeId node = count.node; node != 0; node = profile_.nodes[node].parent) {
            const FrameId frame = profile_.nodes[node].frame;
            // Scopes are left out: one may be between a function and what is inlined into it.
            if (frame >= profile_.frames.size() || function(frame).kind != FrameKind::scope) path_.push_back(frame);
        }
        for (std::size_t at = path_.size(); at-- > 0;) {  // from the root
            const FrameId frame = path_[at];
            if (frame >= profile_.frames.size() || function(frame).kind != FrameKind::user) continue;
            Place* place = &functions_[shown_[profile_.frames[frame].function]][profile_.frames[frame].line];
            add_to(*place, stack, count);
            while (at > 0 && path_[at - 1] < profile_.frames.size() &&
                   function(path_[at - 1]).kind == FrameKind::inlined) {
                const NamedFrame& inlined = profile_.frames[path_[--at]];
                place = &place->inlined[{shown_[inlined.function], inlined.line}];
                add_to(*place, stack, count);
            }
            if (at == 0) {
                place->self.add({count.weight, count.hits});
                own_[shown_[profile_.frames[frame].function]] += count.weight;
            }
        }
    }

    PageSource take(std::size_t most) {
        PageSource source;
        for (const auto& [id, own] : own_) {
            const Places& places = functions_[id];
            const bool known =
                std::any_of(places.begin(), places.end(), [](const auto& place) { return place.first > 0; });
            if (own > 0 && known && profile_.functions[id].file != 0)
                source.functions.push_back({id, own, {}, {}, {}, {}});
        }
        const auto heavier = [&](const FunctionSource& a, const FunctionSource& b) {
            return a.self != b.self ? a.self > b.self : a.function < b.function;
        };
        std::sort(source.functions.begin(), source.functions.end(), heavier);
        if (source.functions.size() > most) source.functions.resize(most);
        for (FunctionSource& function : source.functions) {
            for (const auto& [line, place] : functions_[function.function])
                function.lines.push_back(line_of(line, place));
        }
        return source;
    }

private:
    const Function& function(FrameId frame) const { return profile_.functions[profile_.frames[frame].function]; }
    static void add_to(Place& place, std::uint32_t stack, const NamedCount& count) {
        if (place.counted == stack + 1) return;
        place.counted = stack + 1;
        place.total.add({count.weight, count.hits});
    }
    /// Recurses as deep as functions are inlined, which the debug information bounds.
    static SourceLine line_of(std::uint32_t number, const Place& place) {
        SourceLine line{number, place.self, place.total, {}};
        for (const auto& [key, inner] : place.inlined) {
            if (line.inlined.empty() || line.inlined.back().function != key.first)
                line.inlined.push_back({key.first, {}});
            line.inlined.back().lines.push_back(line_of(key.second, inner));
        }
        return line;
    }

    const NamedProfile& profile_;
    const std::vector<FunctionId> shown_;
    std::unordered_map<FunctionId, Places> functions_;
    std::unordered_map<FunctionId, std::uint64_t> own_;
    std::vector<FrameId> path_;
};

}  // namespace

PageSource source_lines(const NamedProfile& profile, std::size_t most) {
    Collector collector(profile);
    for (std::uint32_t at = 0; at < profile.counts.size(); ++at) {
        if (profile.counts[at].weight > 0) collector.add(at, profile.counts[at]);
    }
    return collector.take(most);
}

}  // namespace flameprobe

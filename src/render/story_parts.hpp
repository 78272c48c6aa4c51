// What the parts of a story are made with.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "render/story.hpp"

namespace flameprobe {

inline bool is_part(std::uint64_t part, double share, std::uint64_t whole) {
    return static_cast<double>(part) >= share * static_cast<double>(whole) && whole != 0;
}

/// Adds what is of one kind and name together, and sorts by weight.
class Parts {
public:
    void add(StoryPart part) {
        if (part.weight == 0) return;
        const auto [at, is_new] = index_.try_emplace({part.kind, part.name}, parts_.size());
        if (is_new) return parts_.push_back(std::move(part));
        StoryPart& sum = parts_[at->second];
        sum.weight += part.weight;
        sum.hits += part.hits;
        sum.nodes.insert(sum.nodes.end(), part.nodes.begin(), part.nodes.end());
    }
    std::vector<StoryPart> take() {
        std::ranges::stable_sort(parts_, [](const StoryPart& a, const StoryPart& b) {
            return a.weight != b.weight ? a.weight > b.weight : a.name < b.name;
        });
        return std::move(parts_);
    }

private:
    std::map<std::pair<StoryPart::Kind, std::string>, std::size_t> index_;
    std::vector<StoryPart> parts_;
};

}  // namespace flameprobe

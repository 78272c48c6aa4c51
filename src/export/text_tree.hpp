// A profile as the tree of its folded text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Stacks whose frames read the same are one node here, whatever functions, lines and threads they came from; a node's
/// children are in the order of their texts, so that the same profile always gives the same tree, and a frame's subtree
/// is never torn apart by a neighbour such as `a.cold` that sorts between `a` and `a;b`.
class TextTree {
public:
    explicit TextTree(const NamedProfile& profile);

    static constexpr std::uint32_t none = 0;  // node 0 is the root
    std::uint32_t first_child(std::uint32_t node) const { return first_child_[node]; }
    std::uint32_t next_sibling(std::uint32_t node) const { return next_sibling_[node]; }
    /// Weight of the samples that end here.
    std::uint64_t self(std::uint32_t node) const { return self_[node]; }
    const std::string& text(std::uint32_t node) const { return texts_[keys_[node]]; }

private:
    std::vector<std::uint32_t> keys_;  // into texts_, which are sorted
    std::vector<std::uint32_t> first_child_;
    std::vector<std::uint32_t> next_sibling_;
    std::vector<std::uint64_t> self_;
    std::vector<std::string> texts_;
};

}  // namespace flameprobe

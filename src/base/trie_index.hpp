// Finds a trie node by its parent and key, where the nodes themselves are kept elsewhere.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/id_table.hpp"

namespace flameprobe {

/// Most nodes of a trie of stacks have one child, which is found without a hash: first_[parent] is a node's first
/// child. Only its other children are in a table. Node 0 is the root. `node_at(id)` gives a node's {parent, key}.
class TrieIndex {
public:
    /// The id for (parent, key): the one that is there, or `next`, which the caller then has to create.
    template <class NodeAt>
    std::uint32_t find_or_claim(std::uint32_t parent, std::uint32_t key, std::uint32_t next, const NodeAt& node_at) {
        if (parent >= first_.size()) first_.resize(std::size_t{parent} + 1);
        std::uint32_t& first = first_[parent];
        if (first == 0) return first = next;
        if (node_at(first).second == key) return first;
        return later_.find_or_add(hash_pair(parent, key), next,
                                  [&](std::uint32_t id) { return node_at(id) == std::pair(parent, key); });
    }

private:
    std::vector<std::uint32_t> first_;
    IdTable later_;
};

}  // namespace flameprobe

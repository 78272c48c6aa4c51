// Finds a trie node by its parent and key, where the nodes themselves are kept elsewhere.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "export/hash.hpp"

namespace flameprobe {

/// Most nodes of a trie of stacks have one child, which is found without a hash: first_[parent] is a node's first
/// child. Only its other children are in a table of node ids with open addressing, at most half full. Node 0 is the
/// root. `node_at(id)` gives a node's {parent, key}.
class TrieIndex {
public:
    /// The id for (parent, key): the one that is there, or `next`, which the caller then has to create.
    template <class NodeAt>
    std::uint32_t find_or_claim(std::uint32_t parent, std::uint32_t key, std::uint32_t next, const NodeAt& node_at) {
        if (parent >= first_.size()) first_.resize(std::size_t{parent} + 1);
        std::uint32_t& first = first_[parent];
        if (first == 0) return first = next;
        if (node_at(first).second == key) return first;
        return find_later_child(parent, key, next, node_at);
    }

private:
    struct Slot {
        std::uint32_t tag = 0;  // other bits of the hash: nodes are seldom looked at in vain
        std::uint32_t id = 0;   // 0: free
    };

    template <class NodeAt>
    std::uint32_t find_later_child(std::uint32_t parent, std::uint32_t key, std::uint32_t next, const NodeAt& node_at) {
        if ((used_ + 1) * 2 > slots_.size()) grow(node_at);
        const std::uint64_t hash = mix(std::uint64_t{parent} << 32 | key, 1);
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            Slot& slot = slots_[at];
            if (slot.id == 0) {
                slot = {tag, next};
                ++used_;
                return next;
            }
            if (slot.tag == tag && node_at(slot.id) == std::pair(parent, key)) return slot.id;
        }
    }

    template <class NodeAt>
    void grow(const NodeAt& node_at) {
        const auto old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 256 : slots_.size() * 2));
        for (const Slot& slot : old) {
            if (slot.id == 0) continue;
            const auto [parent, key] = node_at(slot.id);
            std::size_t at = mix(std::uint64_t{parent} << 32 | key, 1) & (slots_.size() - 1);
            while (slots_[at].id != 0) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = slot;
        }
    }

    std::vector<std::uint32_t> first_;
    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace flameprobe

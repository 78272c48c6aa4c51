// Finds the id of a value, or of a trie node; the values themselves are kept elsewhere.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace flameprobe {

/// Open addressing in one block of memory, half to three quarters full, 8 bytes a slot. A slot keeps its hash too, so
/// that `is` is seldom called in vain, and not at all to grow. (With millions of entries it takes a quarter of
/// std::unordered_map's time and space.) May throw std::bad_alloc, and is then as it was before.
class IdTable {
public:
    /// The id that was added with this hash and for which `is(id)` holds, or `next`, which is in the table from then
    /// on.
    template <class Is>
    std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t next, const Is& is) {
        if ((used_ + 1) * 4 > slots_.size() * 3) grow();
        const auto kept = static_cast<std::uint32_t>(hash ^ hash >> 32);
        for (std::size_t at = place(kept);; at = after(at)) {
            Slot& slot = slots_[at];
            if (slot.id_and_one == 0) {
                slot = {kept, next + 1};
                ++used_;
                return next;
            }
            if (slot.hash == kept && is(slot.id_and_one - 1)) return slot.id_and_one - 1;
        }
    }

    std::size_t memory() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t id_and_one = 0;  // 0: free
    };

    /// Any number of slots will do (Lemire's multiply-shift range reduction).
    std::size_t place(std::uint32_t hash) const { return std::uint64_t{hash} * slots_.size() >> 32; }
    std::size_t after(std::size_t at) const { return at + 1 == slots_.size() ? 0 : at + 1; }
    void grow() {
        const auto old = std::exchange(slots_, std::vector<Slot>(slots_.empty() ? 64 : slots_.size() * 3 / 2));
        for (const Slot& slot : old) {
            if (slot.id_and_one == 0) continue;
            std::size_t at = place(slot.hash);
            while (slots_[at].id_and_one != 0) at = after(at);
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

/// Finds a trie node by its parent and key. Most nodes of a trie of stacks have one child, which is found without a
/// hash: first_[parent] is a node's first child. Only its other children are in a table. Node 0 is the root.
/// `node_at(id)` gives a node's {parent, key}.
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

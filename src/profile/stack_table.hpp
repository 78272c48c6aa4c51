// Interns code locations and stacks: every distinct path is stored once, as (parent, location).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"
#include "base/id_table.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// Gives each location and each stack a number in order of arrival. One thread only. 8 bytes a node (12 a location) and
/// 11 to 16 bytes of index. May throw std::bad_alloc, and is then as it was before the call.
class StackTable {
public:
    struct Interned {
        std::uint32_t id;
        bool is_new;
    };
    Interned location(const Location& location) {
        const auto next = static_cast<std::uint32_t>(addresses_.size());
        make_room(addresses_);
        make_room(mappings_);
        const auto id = location_index_.find_or_add(mix(location.address, location.mapping), next,
                                                    [&](std::uint32_t known) { return at(known) == location; });
        if (id != next) return {id, false};
        addresses_.push_back(location.address);
        mappings_.push_back(location.mapping);
        return {id, true};
    }
    /// `parent` 0 is the root. Ids count from 1.
    Interned stack(StackId parent, LocationId location) {
        const auto next = static_cast<std::uint32_t>(nodes_.size());
        make_room(nodes_);
        const auto index = node_index_.find_or_add(hash_pair(parent, location), next, [&](std::uint32_t known) {
            return nodes_[known].parent == parent && nodes_[known].location == location;
        });
        if (index == next) nodes_.push_back({parent, location});
        return {index + 1, index == next};
    }

    Location at(LocationId id) const { return {mappings_[id], addresses_[id]}; }
    StackNode node(StackId id) const { return nodes_[id - 1]; }
    std::size_t locations() const { return addresses_.size(); }
    std::size_t stacks() const { return nodes_.size(); }
    std::size_t memory() const {  // bytes
        return addresses_.capacity() * sizeof(std::uint64_t) + mappings_.capacity() * sizeof(MappingId) +
               nodes_.capacity() * sizeof(StackNode) + location_index_.memory() + node_index_.memory();
    }

private:
    /// So that what follows find_or_add() does not throw.
    template <class T>
    static void make_room(std::vector<T>& items) {
        constexpr std::size_t few = 64;
        if (items.size() == items.capacity()) items.reserve(std::max(few, 2 * items.size()));
    }

    // Two arrays, because a Location has four bytes of padding.
    std::vector<std::uint64_t> addresses_;
    std::vector<MappingId> mappings_;
    std::vector<StackNode> nodes_;
    IdTable location_index_, node_index_;
};

}  // namespace flameprobe

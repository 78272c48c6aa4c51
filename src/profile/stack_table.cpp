#include "profile/stack_table.hpp"

#include "base/hash.hpp"

namespace flameprobe {

namespace {

std::uint64_t hash_location(const Location& location) { return mix(location.address, location.mapping); }

std::uint64_t hash_node(const StackNode& node) { return hash_pair(node.parent, node.location); }

}  // namespace

StackTable::Interned StackTable::location(const Location& location) {
    const auto count = addresses_.size();
    location_index_.make_room(count, [this](std::size_t id) { return hash_location(at(static_cast<LocationId>(id))); });
    std::uint32_t* slot = location_index_.find(
        hash_location(location), [&](std::uint32_t id) { return at(static_cast<LocationId>(id)) == location; });
    if (*slot != 0) return {*slot - 1, false};
    addresses_.push_back(location.address);
    try {
        mappings_.push_back(location.mapping);
    } catch (...) {
        addresses_.pop_back();
        throw;
    }
    *slot = static_cast<std::uint32_t>(count + 1);
    return {static_cast<LocationId>(count), true};
}

StackTable::Interned StackTable::stack(StackId parent, LocationId location) {
    const auto count = nodes_.size();
    const StackNode wanted{parent, location};
    node_index_.make_room(count, [this](std::size_t index) { return hash_node(nodes_[index]); });
    std::uint32_t* slot = node_index_.find(hash_node(wanted), [&](std::uint32_t index) {
        return nodes_[index].parent == parent && nodes_[index].location == location;
    });
    if (*slot != 0) return {*slot, false};
    nodes_.push_back(wanted);
    *slot = static_cast<std::uint32_t>(count + 1);
    return {*slot, true};
}

Location StackTable::at(LocationId id) const { return {mappings_[id], addresses_[id]}; }
StackNode StackTable::node(StackId id) const { return nodes_[id - 1]; }
std::size_t StackTable::locations() const { return addresses_.size(); }
std::size_t StackTable::stacks() const { return nodes_.size(); }

std::size_t StackTable::memory() const {
    return addresses_.capacity() * sizeof(std::uint64_t) + mappings_.capacity() * sizeof(MappingId) +
           nodes_.capacity() * sizeof(StackNode) + location_index_.memory() + node_index_.memory();
}

}  // namespace flameprobe

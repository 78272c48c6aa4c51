#include "profile/stack_table.hpp"

#include <vector>

#include "base/hash.hpp"

namespace flameprobe {

namespace {

__extension__ using Wide = unsigned __int128;

/// Slots hold an id plus one; 0 is free. Any number of slots will do (Lemire's multiply-shift range reduction), so that
/// the index can grow by half: at most 80 % full, at least 53 %, hence at most 7.5 bytes an entry.
class Index {
public:
    template <class Equal>
    std::uint32_t* find(std::uint64_t hash, Equal equal) {
        std::size_t slot = place(hash);
        while (slots_[slot] != 0 && !equal(slots_[slot] - 1)) slot = slot + 1 == slots_.size() ? 0 : slot + 1;
        return &slots_[slot];
    }
    template <class HashOf>
    void make_room(std::size_t entries, HashOf hash_of) {
        if ((entries + 1) * 5 <= slots_.size() * 4) return;
        Index larger;
        larger.slots_.resize(slots_.size() + slots_.size() / 2);
        for (std::size_t id = 0; id < entries; ++id) {
            *larger.find(hash_of(id), [](std::uint32_t) { return false; }) = static_cast<std::uint32_t>(id + 1);
        }
        slots_.swap(larger.slots_);
    }
    std::size_t memory() const { return slots_.capacity() * sizeof(std::uint32_t); }

private:
    std::size_t place(std::uint64_t hash) const { return static_cast<std::size_t>((Wide{hash} * slots_.size()) >> 64); }

    std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64);
};

std::uint64_t hash_location(const Location& location) {
    return splitmix64(location.address + 0x9e3779b97f4a7c15u * (location.mapping + 1ull));
}

std::uint64_t hash_node(const StackNode& node) {
    return splitmix64((std::uint64_t{node.parent} << 32 | node.location) + 0x9e3779b97f4a7c15u);
}

}  // namespace

struct StackTable::Tables {
    // Two arrays, because a Location has four bytes of padding.
    std::vector<std::uint64_t> addresses;
    std::vector<MappingId> mappings;
    std::vector<StackNode> nodes;
    Index location_index;
    Index node_index;

    Location location(std::size_t id) const { return {mappings[id], addresses[id]}; }
};

StackTable::StackTable() : tables_(std::make_unique<Tables>()) {}
StackTable::~StackTable() = default;
StackTable::StackTable(StackTable&&) noexcept = default;
StackTable& StackTable::operator=(StackTable&&) noexcept = default;

StackTable::Interned StackTable::location(const Location& location) {
    Tables& t = *tables_;
    const auto count = t.addresses.size();
    t.location_index.make_room(count, [&t](std::size_t id) { return hash_location(t.location(id)); });
    std::uint32_t* slot =
        t.location_index.find(hash_location(location), [&](std::uint32_t id) { return t.location(id) == location; });
    if (*slot != 0) return {*slot - 1, false};
    t.addresses.push_back(location.address);
    try {
        t.mappings.push_back(location.mapping);
    } catch (...) {
        t.addresses.pop_back();
        throw;
    }
    *slot = static_cast<std::uint32_t>(count + 1);
    return {static_cast<LocationId>(count), true};
}

StackTable::Interned StackTable::stack(StackId parent, LocationId location) {
    Tables& t = *tables_;
    const auto count = t.nodes.size();
    const StackNode wanted{parent, location};
    t.node_index.make_room(count, [&t](std::size_t index) { return hash_node(t.nodes[index]); });
    std::uint32_t* slot = t.node_index.find(hash_node(wanted), [&](std::uint32_t index) {
        return t.nodes[index].parent == parent && t.nodes[index].location == location;
    });
    if (*slot != 0) return {*slot, false};
    t.nodes.push_back(wanted);
    *slot = static_cast<std::uint32_t>(count + 1);
    return {*slot, true};
}

Location StackTable::at(LocationId id) const { return tables_->location(id); }
StackNode StackTable::node(StackId id) const { return tables_->nodes[id - 1]; }
std::size_t StackTable::locations() const { return tables_->addresses.size(); }
std::size_t StackTable::stacks() const { return tables_->nodes.size(); }

std::size_t StackTable::memory() const {
    const Tables& t = *tables_;
    return t.addresses.capacity() * sizeof(std::uint64_t) + t.mappings.capacity() * sizeof(MappingId) +
           t.nodes.capacity() * sizeof(StackNode) + t.location_index.memory() + t.node_index.memory();
}

}  // namespace flameprobe

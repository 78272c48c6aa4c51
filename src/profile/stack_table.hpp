// Interns code locations and stacks: every distinct path is stored once, as (parent, location).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

/// An open-addressing set of 64-bit pairs, giving each a number in order of arrival.
/// One thread only. 8 bytes a node (12 a location) plus at most 8 bytes of index. May throw std::bad_alloc, and is then
/// as it was before the call.
class StackTable {
public:
    struct Interned {
        std::uint32_t id;
        bool is_new;
    };
    Interned location(const Location& location);
    /// `parent` 0 is the root. Ids count from 1.
    Interned stack(StackId parent, LocationId location);

    Location at(LocationId id) const;
    StackNode node(StackId id) const;
    std::size_t locations() const;
    std::size_t stacks() const;
    std::size_t memory() const;  // bytes

private:
    /// Slots hold an id plus one; 0 is free. Any number of slots will do (Lemire's multiply-shift range reduction), so
    /// that the index can grow by half: at most 80 % full, at least 53 %, hence at most 7.5 bytes an entry.
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
        std::size_t place(std::uint64_t hash) const {
            __extension__ using Wide = unsigned __int128;
            return static_cast<std::size_t>((Wide{hash} * slots_.size()) >> 64);
        }

        std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64);
    };

    // Two arrays, because a Location has four bytes of padding.
    std::vector<std::uint64_t> addresses_;
    std::vector<MappingId> mappings_;
    std::vector<StackNode> nodes_;
    Index location_index_, node_index_;
};

}  // namespace flameprobe

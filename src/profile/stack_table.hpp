// Interns code locations and stacks: every distinct path is stored once, as (parent, location).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

    StackTable();
    ~StackTable();
    StackTable(StackTable&&) noexcept;
    StackTable& operator=(StackTable&&) noexcept;

private:
    struct Tables;
    std::unique_ptr<Tables> tables_;
};

}  // namespace flameprobe

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace flameprobe {

/// A hash map from two 32-bit ids to one, in one block of memory (open addressing): the tries are made of millions of
/// these, and std::unordered_map takes four times the time and space for them.
class PairIndex {
public:
    PairIndex() : slots_(64) {}

    /// The value of (a, b): `value` and true if there was none.
    std::pair<std::uint32_t, bool> insert(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
        if ((used_ + 1) * 2 > slots_.size()) grow();
        Slot& slot = find(slots_, a, b);
        if (slot.full) return {slot.value, false};
        slot = {a, b, value, true};
        ++used_;
        return {value, true};
    }

private:
    struct Slot {
        std::uint32_t a = 0, b = 0, value = 0;
        bool full = false;
    };

    static Slot& find(std::vector<Slot>& slots, std::uint32_t a, std::uint32_t b) {
        const std::uint64_t key = (std::uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15ULL;
        std::size_t at = (key ^ key >> 32) & (slots.size() - 1);
        while (slots[at].full && (slots[at].a != a || slots[at].b != b)) at = (at + 1) & (slots.size() - 1);
        return slots[at];
    }
    void grow() {
        std::vector<Slot> bigger(slots_.size() * 2);
        for (const Slot& slot : slots_) {
            if (slot.full) find(bigger, slot.a, slot.b) = slot;
        }
        slots_.swap(bigger);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace flameprobe

// Which functions of a symbol table can name one of some addresses, told without sorting the table or reading its
// names: a compiler exports thirty thousand functions, and its picture needs fifty.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flameprobe {

/// Addresses in order, in which others are looked up by the million.
/// A look-up takes a fraction of a binary search's time where they are spread: a table tells which of them lie in the
/// same part of their range.
class SortedAddresses {
public:
    /// `addresses`: sorted.
    explicit SortedAddresses(std::vector<std::uint64_t> addresses) : all_(std::move(addresses)) {
        if (all_.empty()) return;
        while ((all_.back() - all_.front()) >> shift_ >= parts) ++shift_;
        for (std::size_t part = 0, next = 0; part <= parts; ++part) {
            while (next < all_.size() && (all_[next] - all_.front()) >> shift_ < part) ++next;
            first_[part] = static_cast<std::uint32_t>(next);
        }
    }

    std::size_t size() const { return all_.size(); }
    std::uint64_t operator[](std::size_t index) const { return all_[index]; }
    /// The first one that is `address` or above it; size() if there is none.
    std::size_t first_from(std::uint64_t address) const {
        if (all_.empty() || address > all_.back()) return all_.size();
        if (address <= all_.front()) return 0;
        const std::size_t part = (address - all_.front()) >> shift_;
        const auto begin = all_.begin();
        return static_cast<std::size_t>(std::lower_bound(begin + first_[part], begin + first_[part + 1], address) -
                                        begin);
    }
    bool has(std::uint64_t address) const {
        const std::size_t i = first_from(address);
        return i < all_.size() && all_[i] == address;
    }

private:
    std::vector<std::uint64_t> all_;
    unsigned shift_ = 0;
    static constexpr std::size_t parts = 1024;
    std::array<std::uint32_t, parts + 1> first_{};  // of each part of the range, in all_
};

class NearSymbols {
public:
    /// `addresses`: sorted.
    explicit NearSymbols(std::vector<std::uint64_t> addresses)
        : addresses_(std::move(addresses)), gaps_(addresses_.size()) {}

    /// Call for every function of the table, in any order. `end` is `start` where the table tells no size.
    void add(std::uint64_t start, std::uint64_t end) {
        const std::size_t next = addresses_.first_from(start);
        if (next == addresses_.size()) return;
        if (addresses_[next] < end) {
            holding_.push_back(start);
            return;
        }
        Gap& gap = gaps_[next];
        if (gap.empty || start > gap.last) gap.last = start;
        if (gap.empty || end > gap.reach) {
            gap.reach = end;
            gap.reaching = start;
        }
        gap.empty = false;
    }
    /// Where those begin that hold an address or are the last before one, and those that reach farthest towards one: in
    /// them a label without a size names nothing. Sorted.
    std::vector<std::uint64_t> starts() const {
        std::vector<std::uint64_t> all = holding_;
        for (const Gap& gap : gaps_)
            if (!gap.empty) all.insert(all.end(), {gap.last, gap.reaching});
        std::ranges::sort(all);
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }

private:
    /// Of the functions that lie between two neighbours among the addresses.
    struct Gap {
        bool empty = true;
        std::uint64_t last = 0;                 // start of the last
        std::uint64_t reach = 0, reaching = 0;  // the greatest end, and where that one starts
    };

    const SortedAddresses addresses_;
    std::vector<Gap> gaps_;  // before each address
    std::vector<std::uint64_t> holding_;
};

}  // namespace flameprobe

// Which functions of a symbol table can name one of some addresses, told without sorting the table or reading its
// names: a compiler exports thirty thousand functions, and its picture needs fifty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flameprobe {

class NearSymbols {
public:
    /// `addresses`: sorted.
    explicit NearSymbols(std::vector<std::uint64_t> addresses)
        : addresses_(std::move(addresses)), gaps_(addresses_.size()) {}

    /// Call for every function of the table, in any order. `end` is `start` where the table tells no size.
    void add(std::uint64_t start, std::uint64_t end) {
        const auto next = std::ranges::lower_bound(addresses_, start);
        if (next == addresses_.end()) return;
        if (*next < end) {
            holding_.push_back(start);
            return;
        }
        Gap& gap = gaps_[static_cast<std::size_t>(next - addresses_.begin())];
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

    const std::vector<std::uint64_t> addresses_;
    std::vector<Gap> gaps_;  // before each address
    std::vector<std::uint64_t> holding_;
};

}  // namespace flameprobe

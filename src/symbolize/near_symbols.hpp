// Which functions of a symbol table can name one of some addresses, told without sorting the table or reading its
// names: a compiler exports thirty thousand functions, and its picture needs fifty.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "symbolize/sorted_addresses.hpp"

namespace flameprobe {

class NearSymbols {
public:
    /// `addresses`: sorted.
    explicit NearSymbols(std::vector<std::uint64_t> addresses)
        : addresses_(std::move(addresses)), gaps_(addresses_.size()) {}

    /// Call for every function of the table, in any order. `end` is `start` where the table tells no size.
    void add(std::uint64_t start, std::uint64_t end);
    /// Where those begin that hold an address or are the last before one, and those that reach farthest towards one: in
    /// them a label without a size names nothing. Sorted.
    std::vector<std::uint64_t> starts() const;

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

// How often and how long threads waited for each lock whose holder was known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/elementary.hpp"
#include "profile/lock_counters.hpp"

namespace flameprobe {

/// The collector thread only.
class LockSums {
public:
    /// `waits`: for how many this one stands. `lasted_ns`: how long it was.
    void add(std::uint64_t lock, double waits, std::uint64_t lasted_ns) {
        Sum& sum = sums_[lock];
        sum.waits += waits;
        sum.longest_ns = std::max(sum.longest_ns, lasted_ns);
    }
    /// Of the locks with the longest waits, so that a summary stays small.
    void add_to(Counters& counters) const {
        constexpr std::size_t most = 200;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> longest;
        for (const auto& [lock, sum] : sums_) longest.emplace_back(sum.longest_ns, lock);
        std::ranges::sort(longest, std::greater());
        longest.resize(std::min(longest.size(), most));
        for (const auto& [ns, lock] : longest)
            set_lock(counters, lock_address(lock), rounded(sums_.at(lock).waits), ns);
    }

private:
    struct Sum {
        double waits = 0;
        std::uint64_t longest_ns = 0;
    };
    std::unordered_map<std::uint64_t, Sum> sums_;
};

}  // namespace flameprobe

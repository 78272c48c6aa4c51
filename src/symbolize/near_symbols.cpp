#include "symbolize/near_symbols.hpp"

#include <algorithm>
#include <cstddef>

namespace flameprobe {

void NearSymbols::add(std::uint64_t start, std::uint64_t end) {
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

std::vector<std::uint64_t> NearSymbols::starts() const {
    std::vector<std::uint64_t> all = holding_;
    for (const Gap& gap : gaps_)
        if (!gap.empty) all.insert(all.end(), {gap.last, gap.reaching});
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

}  // namespace flameprobe

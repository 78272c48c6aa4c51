// Addresses in order, in which others are looked up by the million.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flameprobe {

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

}  // namespace flameprobe

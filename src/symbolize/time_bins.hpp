// When samples were taken, in coarse steps: in at most a thousand equal stretches of the run, and a bounded number of
// entries.
#pragma once

#include <cstdint>
#include <vector>

namespace flameprobe {

/// Adds up weights and hits by key and bin. Bins start at a millisecond; where there are too many of them, or of
/// entries, two neighbours become one.
class TimeBins {
public:
    struct Entry {
        std::uint64_t key = 0;
        std::uint32_t bin = 0;
        std::uint64_t weight = 0, hits = 0;
    };

    explicit TimeBins(std::size_t most_entries = 1'000'000) : most_entries_(most_entries) {}

    void add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits);
    /// By key, then bin.
    const std::vector<Entry>& entries();
    std::uint64_t bin_ns() const { return bin_ns_; }

private:
    void halve();
    void merge();

    static constexpr std::uint64_t most_bins = 1000;

    const std::size_t most_entries_;
    std::uint64_t bin_ns_ = 1'000'000;
    std::vector<Entry> entries_;
    std::size_t merged_ = 0;  // the first so many entries are sorted and distinct
};

}  // namespace flameprobe

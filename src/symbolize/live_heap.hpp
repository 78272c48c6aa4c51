// What was alive of what a program allocated, by stack: when it was most, or at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flameprobe {

class LiveHeap {
public:
    enum class Change : std::uint8_t { grew, shrank };
    struct Live {
        std::uint64_t weight = 0, hits = 0;
        /// In the mean; of the oldest. At the end only. Negative: before the profile began.
        std::int64_t allocated_ns = 0, first_allocated_ns = 0;
    };

    /// `key`: of the thread and stack. `bytes` say when most was alive; `weight` is what is asked for.
    /// `age_ns`: of what shrank, and 0 is not known; or of what was there before.
    void change(Change change, std::uint64_t time_ns, std::uint64_t key, std::uint64_t bytes, std::uint64_t weight,
                std::uint64_t hits, std::uint64_t age_ns = 0);

    /// Alive at the end, or just before `to_ns`.
    std::unordered_map<std::uint64_t, Live> at_end(std::optional<std::uint64_t> to_ns);
    /// Whether it is known when that was allocated; earlier versions' profiles do not say it.
    bool knows_ages() const { return knows_ages_; }
    /// Alive when it was most, from `from_ns` to `to_ns`.
    std::unordered_map<std::uint64_t, Live> at_peak(std::optional<std::uint64_t> from_ns,
                                                    std::optional<std::uint64_t> to_ns);
    /// How much was alive at most in each of equal stretches of time, the last of which has `end_ns` in it.
    std::vector<std::uint64_t> over_time(std::uint64_t end_ns, std::uint64_t stretch_ns);

private:
    struct Entry {
        std::uint64_t time_ns;
        std::int64_t allocated_ns;
        std::uint64_t key, bytes, weight, hits;
        Change change;
    };
    std::size_t up_to(std::optional<std::uint64_t> to_ns);
    std::unordered_map<std::uint64_t, Live> sum(std::size_t end) const;
    bool date(std::size_t end, std::unordered_map<std::uint64_t, Live>& alive) const;

    std::vector<Entry> entries_;
    bool knows_ages_ = false;
};

}  // namespace flameprobe

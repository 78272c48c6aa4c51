// What was alive of what a program allocated, by stack: when it was most, or at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "profile/model.hpp"

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
                std::uint64_t hits, std::uint64_t age_ns = 0) {
        const bool known = change == Change::grew || age_ns != 0;
        const std::int64_t allocated_ns = known ? signed_ns(time_ns) - signed_ns(age_ns) : not_known;
        entries_.push_back({time_ns, allocated_ns, key, bytes, weight, hits, change});
    }

    /// Alive at the end, or just before `to_ns`.
    std::unordered_map<std::uint64_t, Live> at_end(std::optional<std::uint64_t> to_ns) {
        const std::size_t end = up_to(to_ns);
        auto alive = sum(end);
        knows_ages_ = date(end, alive);
        return alive;
    }
    /// Whether it is known when that was allocated; earlier versions' profiles do not say it.
    bool knows_ages() const { return knows_ages_; }
    /// Alive when it was most, from `from_ns` to `to_ns`.
    std::unordered_map<std::uint64_t, Live> at_peak(std::optional<std::uint64_t> from_ns,
                                                    std::optional<std::uint64_t> to_ns) {
        const std::size_t end = up_to(to_ns);
        std::uint64_t now = 0, most = 0;
        std::size_t peak = 0;
        for (std::size_t i = 0; i < end; ++i) {
            const Entry& entry = entries_[i];
            const bool before = from_ns && entry.time_ns < *from_ns;
            now = entry.change == Change::grew ? add_saturated(now, entry.bytes) : now - std::min(now, entry.bytes);
            if (!before && now <= most) continue;
            most = now;
            peak = i + 1;
        }
        // The number of what was allocated comes after its bytes, with the same time.
        while (peak > 0 && peak < end && entries_[peak].time_ns == entries_[peak - 1].time_ns) ++peak;
        return sum(peak);
    }
    /// How much was alive at most in each of equal stretches of time, the last of which has `end_ns` in it.
    std::vector<std::uint64_t> over_time(std::uint64_t end_ns, std::uint64_t stretch_ns) {
        up_to({});
        std::vector<std::uint64_t> most(end_ns / stretch_ns + 1);
        std::size_t at = 0;
        std::uint64_t now = 0;
        for (std::uint64_t stretch = 0; stretch < most.size(); ++stretch) {
            most[stretch] = now;
            for (; at < entries_.size() && entries_[at].time_ns / stretch_ns <= stretch; ++at) {
                const Entry& entry = entries_[at];
                now =
                    entry.change == Change::grew ? add_saturated(now, entry.weight) : now - std::min(now, entry.weight);
                most[stretch] = std::max(most[stretch], now);
            }
        }
        return most;
    }

private:
    static constexpr std::int64_t not_known = std::numeric_limits<std::int64_t>::max();
    // Files may be hostile: a time after the start, or before it, of less than 146 years.
    static constexpr std::int64_t signed_ns(std::uint64_t ns) {
        return static_cast<std::int64_t>(ns & ~std::uint64_t{0} >> 2);
    }
    struct Entry {
        std::uint64_t time_ns;
        std::int64_t allocated_ns;
        std::uint64_t key, bytes, weight, hits;
        Change change;
    };
    std::size_t up_to(std::optional<std::uint64_t> to_ns) {
        std::ranges::stable_sort(entries_, {}, &Entry::time_ns);
        if (!to_ns) return entries_.size();
        const auto end = std::ranges::lower_bound(entries_, *to_ns, {}, &Entry::time_ns);
        return static_cast<std::size_t>(end - entries_.begin());
    }
    // Files may be hostile, or the first part of a divided one gone: no sum goes below 0.
    std::unordered_map<std::uint64_t, Live> sum(std::size_t end) const {
        std::unordered_map<std::uint64_t, Live> grown, shrunk;
        for (std::size_t i = 0; i < end; ++i) {
            Live& live = (entries_[i].change == Change::grew ? grown : shrunk)[entries_[i].key];
            live.weight = add_saturated(live.weight, entries_[i].weight);
            live.hits = add_saturated(live.hits, entries_[i].hits);
        }
        for (const auto& [key, less] : shrunk) {
            Live& live = grown[key];
            live.weight -= std::min(live.weight, less.weight);
            live.hits -= std::min(live.hits, less.hits);
        }
        std::erase_if(grown, [](const auto& entry) { return entry.second.weight == 0; });
        return grown;
    }
    /// When what is alive was allocated: what was allocated at each time, less what was freed of it. False: not known.
    bool date(std::size_t end, std::unordered_map<std::uint64_t, Live>& alive) const {
        std::vector<const Entry*> of_alive;
        for (std::size_t i = 0; i < end; ++i) {
            if (entries_[i].weight == 0 || !alive.contains(entries_[i].key)) continue;
            if (entries_[i].allocated_ns == not_known) return false;
            of_alive.push_back(&entries_[i]);
        }
        std::ranges::sort(of_alive, {}, [](const Entry* one) { return std::tie(one->key, one->allocated_ns); });
        for (std::size_t at = 0; at < of_alive.size();) {
            const std::uint64_t key = of_alive[at]->key;
            Live& live = alive.at(key);
            double left = 0, sum = 0;
            while (at < of_alive.size() && of_alive[at]->key == key) {
                const std::int64_t time = of_alive[at]->allocated_ns;
                const double before = left;
                for (; at < of_alive.size() && of_alive[at]->key == key && of_alive[at]->allocated_ns == time; ++at)
                    left += (of_alive[at]->change == Change::grew ? 1 : -1) * static_cast<double>(of_alive[at]->weight);
                sum += (left - before) * static_cast<double>(time);
                // In a compacted profile times are coarse: nothing is left of what comes before all that was freed.
                if (before <= 0 && left > 0) live.first_allocated_ns = time;
            }
            const double mean = left > 0 ? sum / left : 0;
            live.allocated_ns = std::max(static_cast<std::int64_t>(mean), live.first_allocated_ns);
        }
        return true;
    }

    std::vector<Entry> entries_;
    bool knows_ages_ = false;
};

}  // namespace flameprobe

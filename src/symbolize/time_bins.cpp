#include "symbolize/time_bins.hpp"

#include <algorithm>
#include <tuple>

#include "symbolize/raw_profile.hpp"

namespace flameprobe {

void TimeBins::add(std::uint64_t key, std::uint64_t time_ns, std::uint64_t weight, std::uint64_t hits) {
    while (time_ns / bin_ns_ >= most_bins) halve();
    entries_.push_back({key, static_cast<std::uint32_t>(time_ns / bin_ns_), weight, hits});
    if (entries_.size() < 2 * most_entries_) return;
    merge();
    while (entries_.size() > most_entries_ && bin_ns_ < std::uint64_t{1} << 62) halve();
}

const std::vector<TimeBins::Entry>& TimeBins::entries() {
    merge();
    return entries_;
}

void TimeBins::halve() {
    bin_ns_ *= 2;
    for (Entry& entry : entries_) entry.bin /= 2;
    merged_ = 0;
    if (entries_.size() > most_entries_) merge();
}

void TimeBins::merge() {
    if (merged_ == entries_.size()) return;
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return std::tie(a.key, a.bin) < std::tie(b.key, b.bin); });
    std::size_t kept = 0;
    for (const Entry& entry : entries_) {
        Entry* last = kept > 0 ? &entries_[kept - 1] : nullptr;
        if (last != nullptr && last->key == entry.key && last->bin == entry.bin) {
            last->weight = add_saturated(last->weight, entry.weight);
            last->hits = add_saturated(last->hits, entry.hits);
        } else {
            entries_[kept++] = entry;
        }
    }
    entries_.resize(kept);
    merged_ = kept;
}

}  // namespace flameprobe

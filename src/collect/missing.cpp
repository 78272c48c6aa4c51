#include "collect/missing.hpp"

namespace flameprobe {

std::string what_is_missing(const Summary& summary, std::uint64_t not_sampled_ns, std::uint32_t copied,
                            std::uint32_t most) {
    constexpr std::uint64_t few = 20, part = 20;  // a twentieth
    constexpr std::uint32_t largest = 1 << 20;
    const std::uint64_t cut = summary.continuation_rejected, hits = summary.hits;
    const std::uint64_t all = summary.samples + summary.lost + not_sampled_ns;
    if (hits < few) return {};
    const auto share = [](std::uint64_t some, std::uint64_t every) {
        return std::to_string(some * 100 / every) + " %";
    };
    if (summary.lost * part >= all)
        return share(summary.lost, all) +
               " of the time is [lost], since there was no room for samples: a lower FLAMEPROBE_FREQ loses less";
    if (cut >= few && cut * part >= hits && copied < largest)
        return share(cut, hits) + " of the stacks are deeper than the " + std::to_string(copied) +
               " bytes that are copied, and [truncated]: " + (most < largest ? "FLAMEPROBE_ENGINE=timer " : "") +
               "FLAMEPROBE_STACK=" + std::to_string(largest) + " copies more";
    if (not_sampled_ns * part >= all)
        return share(not_sampled_ns, all) +
               " of the time is [not sampled], in threads that ran too briefly: a higher FLAMEPROBE_FREQ takes more";
    return {};
}

}  // namespace flameprobe

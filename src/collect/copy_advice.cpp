#include "collect/copy_advice.hpp"

#include "capture/event_source.hpp"

namespace flameprobe {

std::string copy_advice(const Summary& summary, const RunInfo& run) {
    constexpr std::uint64_t few = 20, part = 20;  // a twentieth
    constexpr std::uint32_t largest = 1 << 20;
    const std::uint64_t cut = summary.continuation_rejected, all = hits_of(summary);
    if (cut < few || cut * part < all || run.stack_bytes >= largest) return {};
    const bool by_rings = run.engine == "ring";
    const bool rings_can_more = run.stack_bytes < most_ring_stack_bytes;
    const std::string setting =
        by_rings && rings_can_more ? std::to_string(most_ring_stack_bytes) : std::to_string(largest);
    return std::to_string(cut * 100 / all) + " % of the stacks are deeper than the " + std::to_string(run.stack_bytes) +
           " bytes that are copied, and [truncated]: " +
           (by_rings && !rings_can_more ? "FLAMEPROBE_ENGINE=timer " : "") + "FLAMEPROBE_STACK=" + setting +
           " copies more";
}

}  // namespace flameprobe

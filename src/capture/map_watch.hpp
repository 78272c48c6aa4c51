#pragma once

#include <cstdint>

#include "base/proc_maps.hpp"
#include "capture/record.hpp"

namespace flameprobe {

struct StackRange {
    std::uint64_t low = 0, high = 0;
};
/// The stack that is mapped as long as the thread lives, as a range that ends at `control_block`: the mapping right
/// below it must follow a guard. For the main thread (`control_block` 0) the one named [stack], without the arguments
/// and the environment above its first frame. Empty if none is proved.
StackRange stack_below(const ProcMaps& maps, std::uint64_t control_block);

/// Reports executable mappings where no perf event does, by reading /proc/self/maps: at the start, when code runs
/// outside of the known mappings, and from time to time. Collector thread only.
class MapWatch {
public:
    /// Reads again if it is time to, which is sooner where there are `samples`: a library may have taken another's
    /// place. Mappings that are new since the last reading go to `sink`.
    void refresh(RecordSink& sink, std::uint64_t now_ns, bool samples = false);
    /// Reads again at once unless `pc` is in a known mapping; code in no mapping at all (it was unmapped since) makes
    /// it read at most every 10 ms.
    void expect(std::uint64_t pc, RecordSink& sink, std::uint64_t now_ns);
    /// A stack led to code in no known mapping: a library may have been loaded. The next refresh() reads, sooner or
    /// later by what earlier readings of this kind have found.
    void met_unknown_code();

    /// The same, from the last reading.
    StackRange stack_below(std::uint64_t control_block) const { return flameprobe::stack_below(known_, control_block); }
    /// When the last reading was.
    std::uint64_t read_ns() const { return read_ns_; }
    void read(RecordSink& sink, std::uint64_t now_ns);

private:
    bool report_new(const ProcMaps& found, RecordSink& sink) const;

    ProcMaps known_{{}};
    std::uint64_t read_ns_ = 0;
    std::uint64_t next_ns_ = 0;
    std::uint64_t patience_ns_ = least_patience_ns;
    std::uint64_t cost_ns_ = 0;
    bool asked_ = false;  // the next reading is one that met_unknown_code() wants
    static constexpr std::uint64_t least_patience_ns = 10'000'000;
};

}  // namespace flameprobe

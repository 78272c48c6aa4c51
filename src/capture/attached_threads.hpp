#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "capture/cpu_rings.hpp"

namespace flameprobe {

/// The events of threads that ran before the source was opened: such a thread inherits none, so it gets its own for
/// each ring. The collector only.
class AttachedThreads {
public:
    struct Counts {
        std::size_t threads = 0;             // that run, beside the main one
        std::size_t without_descriptor = 0;  // of them: no event, because the limit of descriptors is reached
        std::size_t refused = 0;             // events, each of a thread on a CPU
        std::string refusal;                 // why the last of them was
    };
    /// Opens events of all running threads but the main one beside those of `rings`, which write into the same rings;
    /// beside CpuRing::switches too, with `switch_attributes`.
    Counts attach(std::span<const CpuRing> rings, const perf_event_attr& switch_attributes);
    /// ioctl(2) of all events; the threads of some may have ended.
    void control(unsigned long request) const;
    void stop_switches();
    /// Whether all threads that have such events, or inherited them, have ended.
    bool ended() const;

    /// A sample that must not be counted. A thread that was born during attach() may have two events on a CPU, its own
    /// and its creator's, which it inherited: from outside it looks like a thread that inherited none. The event that
    /// was opened last counts: it samples the thread wherever it exists, while what is inherited may have been opened
    /// on some CPUs only. `ring` is one of `rings`, `record` any record of it.
    bool is_second(std::span<CpuRing> rings, CpuRing& ring, std::span<const std::byte> record) const;

private:
    enum class Outcome {
        attached,
        ended_or_refused,
        no_descriptor,
    };
    Outcome attach_thread(std::uint32_t tid, std::span<const CpuRing> rings, const perf_event_attr& switch_attributes,
                          Counts& counts);

    std::vector<Descriptor> events_;
    std::vector<Descriptor> switches_;
};

}  // namespace flameprobe

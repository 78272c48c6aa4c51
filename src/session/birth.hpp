// The first milliseconds of a forked child, in which its collector opens nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "collect/recording.hpp"
#include "session/command_queue.hpp"
#include "session/life.hpp"
#include "session/options.hpp"

namespace flameprobe {

class Birth {
public:
    /// Both must outlive it.
    Birth(const Options& options, Life& life) : options_(options), life_(life) {}

    /// To be called in a forked child, newborn from now, before its collector is launched. The collector then opens
    /// nothing until the child has used half a period of CPU time, or a quarter of FLAMEPROBE_MIN_CPU: one that ends,
    /// or executes another program, before that costs no more than a thread. `start_ticket`: of the request to start.
    /// CPU time and units of work count from now.
    void begin(std::uint32_t start_ticket);
    /// Whether nothing is sampled yet because of that, and nothing would be lost at an end now: the child has not used
    /// FLAMEPROBE_MIN_CPU, and no units of work were counted. Async-signal-safe.
    bool waits() const noexcept;
    /// To be called when the host ends, by any thread. True if its collector still waited so, or is gone: there is
    /// nothing to ask it for or to wait for. Async-signal-safe.
    bool end() noexcept;

    /// The rest is for the collector's thread. Waits, in a forked child; false if the end was asked for meanwhile, and
    /// would leave nothing.
    bool outlived(CommandQueue& commands);
    /// Whether sampling has not started, and its end would leave something all the same: CPU time or units of work.
    bool leaves_something() const { return counts_ && !leaves_nothing(); }
    /// From when the first start of sampling counts; nothing if that is from now. `ends`: it is also the end.
    /// `thread_used_ns`: by the thread of the child before it became a task; nothing if it is still a thread.
    std::optional<Recording::CountedTo> counted_to(bool ends, std::optional<std::uint64_t> thread_used_ns);

private:
    std::uint64_t bound_ns() const;
    bool uses_little() const noexcept;
    bool leaves_nothing() const;

    const Options& options_;
    Life& life_;
    std::uint32_t start_ticket_ = 0;  // these three are constant once the collector is launched
    std::uint64_t time_ns_ = 0, process_ns_ = 0;
    bool counts_ = false;  // until sampling starts, or the child ends and leaves nothing
};

}  // namespace flameprobe

// An event that only a program outside of the host samples, by looking at the host's memory.
#pragma once

#include <cstdint>
#include <memory>

#include "collect/pipeline.hpp"
#include "profile/counters.hpp"

namespace flameprobe {

/// One thread.
class OutsideEvent {
public:
    virtual ~OutsideEvent() = default;
    virtual EventInfo info() const = 0;
    /// A profile begins: its samples go to this event of it, from `now_ns` of CLOCK_MONOTONIC on.
    virtual void begin(Pipeline& pipeline, EventId event, std::uint64_t now_ns) = 0;
    /// Looks, if it is time. Who watches asks for it, between two drains too.
    virtual void look(std::uint64_t now_ns) = 0;
    virtual std::uint64_t until_look_ns() const = 0;
    /// What was seen and is not in the profile yet goes there.
    virtual void settle_all() = 0;
    virtual bool has_samples() const = 0;
    virtual void add_to(Counters& counters) const = 0;
};

/// Set by who watches a process from outside; null in a host.
inline OutsideEvent* outside_event = nullptr;

}  // namespace flameprobe

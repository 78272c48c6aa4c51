// Which of a profile's events are read, and by what their weights are multiplied.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

class EventChoice {
public:
    /// `wanted`: an event's name; empty: the first event that the user asked for when the program was sampled. `idle`:
    /// include the waits of threads that never woke.
    EventChoice(std::string wanted, bool idle) : wanted_(std::move(wanted)), idle_(idle) {}

    void set_run(const RunInfo& run);
    void add(EventId id, const EventInfo& info);
    /// Whether the event's samples are part of what was chosen.
    bool reads(EventId event) const { return event < read_.size() && read_[event]; }

    /// Whether what is read is alive memory, made of what was allocated and freed; and whether when it was most.
    bool is_heap() const { return chosen().starts_with(event_name::heap); }
    bool is_peak() const { return is_heap() && !chosen().starts_with(event_name::heap_end); }
    /// Of alive memory: whether these bytes, or this weight, are a part of it; and whether it was freed.
    struct HeapPart {
        bool bytes = false, weight = false, freed = false;
    };
    HeapPart heap_part(EventId event) const;

    /// The name of the event that is read; the run's own event is called cpu where it is a clock.
    std::string chosen() const;
    bool is_own() const { return chosen() == own_; }
    /// Whether the profile has the chosen event.
    bool is_there() const;
    /// All names that can be chosen, the run's own event first.
    std::vector<std::string> names() const;
    /// The events that were asked for when the program was sampled, as far as the profile has them.
    std::vector<std::string> shown() const;
    /// Puts the chosen event's facts into `run`, in place of those of the run's own event.
    void describe(RunInfo& run) const;

private:
    void choose();
    EventId find(std::string_view name) const;

    const std::string wanted_;
    const bool idle_;
    std::string own_;
    bool own_is_time_ = false;
    std::vector<std::string> asked_;
    std::vector<EventInfo> events_ = std::vector<EventInfo>(1);  // [0]: the run's own, which its RunInfo describes
    std::vector<bool> read_ = {true};
};

}  // namespace flameprobe

// Which of a profile's events are read, and what one unit of weight of each counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

class EventChoice {
public:
    /// `wanted`: an event's name; empty: the first that was asked for when it was sampled. `idle`: with threads that
    /// never woke.
    EventChoice(std::string wanted, bool idle) : wanted_(std::move(wanted)), idle_(idle) {}

    void set_run(const RunInfo& run);
    void add(EventId id, const EventInfo& info);
    /// By which a sample's weight is multiplied; 0: it is not read.
    std::uint64_t factor(EventId event) const { return event < factors_.size() ? factors_[event] : 0; }

    /// What is read; the run's own event is called cpu where it is a clock.
    std::string chosen() const;
    bool is_own() const { return chosen() == own_; }
    /// Whether the profile has it.
    bool is_there() const;
    /// All that can be, the run's own first.
    std::vector<std::string> names() const;
    /// Those that were asked for when it was sampled and that there are.
    std::vector<std::string> shown() const;
    /// In `run`, instead of the run's own.
    void describe(RunInfo& run) const;

private:
    void choose();
    EventId find(std::string_view name) const;

    const std::string wanted_;
    const bool idle_;
    std::string own_;
    std::uint64_t own_period_ns_ = 0;
    std::vector<std::string> asked_;
    std::vector<EventInfo> events_ = std::vector<EventInfo>(1);  // [0]: the run's own, which its RunInfo describes
    std::vector<std::uint64_t> factors_ = {1};
};

/// As users type it: cpu for any clock of CPU time.
std::string short_event_name(const std::string& event);

}  // namespace flameprobe

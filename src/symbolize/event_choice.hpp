// Which of a profile's events are read, and by what their weights are multiplied.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/paths.hpp"
#include "profile/model.hpp"

namespace flameprobe {

class EventChoice {
public:
    /// `wanted`: an event's name; empty: the first event that the user asked for when the program was sampled. `idle`:
    /// include the waits of threads that never woke.
    EventChoice(std::string wanted, bool idle) : wanted_(std::move(wanted)), idle_(idle) {}

    void set_run(const RunInfo& run) {
        own_ = short_event_name(run.event);
        own_is_time_ = run.period_ns != 0;
        const auto asked = parts_of_list(run.shown, ',');
        asked_.assign(asked.begin(), asked.end());
        choose();
    }
    void add(EventId id, const EventInfo& info) {
        if (id >= events_.size()) events_.resize(id + 1);
        events_[id] = info;
        choose();
    }
    /// Whether the event's samples are part of what was chosen.
    bool reads(EventId event) const { return event < read_.size() && read_[event]; }

    /// Whether what is read is alive memory, made of what was allocated and freed; and whether when it was most.
    bool is_heap() const { return chosen().starts_with(event_name::heap); }
    bool is_peak() const { return is_heap() && !chosen().starts_with(event_name::heap_end); }
    /// Of alive memory: whether these bytes, or this weight, are a part of it; and whether it was freed.
    struct HeapPart {
        bool bytes = false, weight = false, freed = false;
    };
    HeapPart heap_part(EventId event) const {
        if (event >= events_.size()) return {};
        const std::string& name = events_[event].name;
        const bool numbers = chosen().ends_with("objects"), freed = name.starts_with(event_name::freed);
        const bool bytes = name == event_name::alloc || name == event_name::kept || name == event_name::freed;
        const bool objects =
            name == event_name::alloc_objects || name == event_name::kept_objects || name == event_name::freed_objects;
        return {bytes, numbers ? objects : bytes, freed};
    }

    /// The name of the event that is read; the run's own event is called cpu where it is a clock.
    std::string chosen() const { return wanted_.empty() ? shown().front() : short_event_name(wanted_); }
    bool is_own() const { return chosen() == own_; }
    /// Whether the profile has the chosen event.
    bool is_there() const {
        const std::vector<std::string> all = names();
        return std::ranges::find(all, chosen()) != all.end();
    }
    /// All names that can be chosen, the run's own event first.
    std::vector<std::string> names() const {
        std::vector<std::string> all = {own_};
        for (EventId id = 1; id < events_.size(); ++id)
            if (!is_hidden(events_[id].name)) all.push_back(events_[id].name);
        if (find(event_name::freed) != none)
            for (const auto name :
                 {event_name::heap, event_name::heap_objects, event_name::heap_end, event_name::heap_end_objects})
                all.emplace_back(name);
        if (own_is_time_ && find(event_name::offcpu) != none) all.emplace_back(event_name::wall);
        return all;
    }
    /// The events that were asked for when the program was sampled, as far as the profile has them.
    std::vector<std::string> shown() const {
        const std::vector<std::string> all = names();
        std::vector<std::string> there;
        for (const std::string& name : asked_)
            if (std::ranges::find(all, name) != all.end()) there.push_back(name);
        if (there.empty()) there.push_back(own_);
        return there;
    }
    /// Puts the chosen event's facts into `run`, in place of those of the run's own event.
    void describe(RunInfo& run) const {
        const std::string name = chosen();
        if (name == own_) return;
        if (is_heap()) {
            run.event = name;
            run.event_kind = name.ends_with("objects") ? event_kind::objects : event_kind::bytes;
            run.frequency_asked = run.period_ns = 0;
            return;
        }
        const EventId event = find(name == event_name::wall ? event_name::offcpu : name);
        if (event == none) return;
        run.event = name;
        run.event_kind = name == event_name::wall ? "running and waiting time" : events_[event].kind;
        run.frequency_asked = events_[event].frequency_asked;
        run.period_ns = events_[event].period_ns;
    }

private:
    static constexpr EventId none = ~EventId{0};

    /// Parts of others.
    static bool is_hidden(std::string_view name) {
        return name == event_name::idle || name.starts_with(event_name::freed) || name.starts_with(event_name::kept);
    }
    void choose() {
        const std::string name = chosen();
        read_.assign(events_.size(), false);
        const bool wall = name == event_name::wall && own_is_time_;
        const EventId idle = find(event_name::idle);
        if (name == own_ || wall) read_[0] = true;
        const EventId event = find(wall ? event_name::offcpu : name);
        if (event == none) return;
        read_[event] = true;
        if (idle_ && idle != none && events_[event].name == event_name::offcpu) read_[idle] = true;
    }
    EventId find(std::string_view name) const {
        for (EventId id = 1; id < events_.size(); ++id)
            if (events_[id].name == name) return id;
        return none;
    }

    const std::string wanted_;
    const bool idle_;
    std::string own_;
    bool own_is_time_ = false;
    std::vector<std::string> asked_;
    std::vector<EventInfo> events_ = std::vector<EventInfo>(1);  // [0]: the run's own, which its RunInfo describes
    std::vector<bool> read_ = {true};
};

}  // namespace flameprobe

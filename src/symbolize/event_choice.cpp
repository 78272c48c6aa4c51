#include "symbolize/event_choice.hpp"

#include <algorithm>

#include "base/paths.hpp"

namespace flameprobe {
namespace {

constexpr EventId none = ~EventId{0};

/// Parts of others.
bool is_hidden(std::string_view name) {
    return name == event_name::idle || name.starts_with(event_name::freed) || name.starts_with(event_name::kept);
}

}  // namespace

void EventChoice::set_run(const RunInfo& run) {
    own_ = short_event_name(run.event);
    own_is_time_ = run.period_ns != 0;
    const auto asked = parts_of_list(run.shown, ',');
    asked_.assign(asked.begin(), asked.end());
    choose();
}

void EventChoice::add(EventId id, const EventInfo& info) {
    if (id >= events_.size()) events_.resize(id + 1);
    events_[id] = info;
    choose();
}

EventId EventChoice::find(std::string_view name) const {
    for (EventId id = 1; id < events_.size(); ++id)
        if (events_[id].name == name) return id;
    return none;
}

std::vector<std::string> EventChoice::names() const {
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

std::vector<std::string> EventChoice::shown() const {
    const std::vector<std::string> all = names();
    std::vector<std::string> there;
    for (const std::string& name : asked_)
        if (std::find(all.begin(), all.end(), name) != all.end()) there.push_back(name);
    if (there.empty()) there.push_back(own_);
    return there;
}

std::string EventChoice::chosen() const { return wanted_.empty() ? shown().front() : short_event_name(wanted_); }

bool EventChoice::is_there() const {
    const std::vector<std::string> all = names();
    return std::find(all.begin(), all.end(), chosen()) != all.end();
}

void EventChoice::choose() {
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

EventChoice::HeapPart EventChoice::heap_part(EventId event) const {
    if (event >= events_.size()) return {};
    const std::string& name = events_[event].name;
    const bool numbers = chosen().ends_with("objects"), freed = name.starts_with(event_name::freed);
    const bool bytes = name == event_name::alloc || name == event_name::kept || name == event_name::freed;
    const bool objects =
        name == event_name::alloc_objects || name == event_name::kept_objects || name == event_name::freed_objects;
    return {bytes, numbers ? objects : bytes, freed};
}

void EventChoice::describe(RunInfo& run) const {
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

}  // namespace flameprobe

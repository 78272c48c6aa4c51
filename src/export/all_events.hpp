// All events of a profile with one set of tables, for formats that hold several events in one file; and their samples
// divided by thread, for formats that show each thread separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

class AllEvents {
public:
    /// `profile` and its `others` must outlive it. They come from one run, and have the same threads, mappings and
    /// locations.
    explicit AllEvents(const NamedProfile& profile);
    AllEvents(const AllEvents&) = delete;

    struct Part {
        const NamedProfile* event;  // for its run and summary; its counts are a part of tables().counts
        std::size_t begin, end;     // indices of tables().counts
    };
    const std::vector<Part>& parts() const { return parts_; }
    /// The tables of all parts: the profile itself if it has no other events.
    const NamedProfile& tables() const { return parts_.size() == 1 ? *parts_.front().event : joined_; }

private:
    void join(const NamedProfile& event);

    NamedProfile joined_;
    FunctionIds functions_{joined_};
    std::vector<Part> parts_;
};

struct ThreadSamples {
    ThreadId thread = 0;
    std::string name;  // of the thread, with its tid where it has one
    std::uint64_t weight = 0;
    std::vector<const NamedCount*> counts;  // stacks that begin alike are neighbours
    const NamedProfile* event = nullptr;    // the event of these samples: its run says what a weight is
};

/// The threads that have samples, by id, for one event after the other. From the second event on their names have the
/// event: "worker (12), offcpu". Nodes are those of events.tables(). A profile without threads (folded text) has one.
std::vector<ThreadSamples> samples_by_thread(const AllEvents& events);

/// The thread with the most samples of the first event.
std::vector<ThreadSamples>::const_iterator busiest_thread(const std::vector<ThreadSamples>& threads);

}  // namespace flameprobe

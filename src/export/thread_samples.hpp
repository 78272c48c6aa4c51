// A profile's samples divided by thread, for formats that show each thread separately.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/all_events.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

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

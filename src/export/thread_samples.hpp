// A profile's samples apart by thread, for formats that show each thread on its own.
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
    const NamedProfile* event = nullptr;    // whose samples these are: its run says what a weight is
};

/// Threads that have samples, by id; of each event, one after the other. The names of all but the first event's say
/// which: "worker (12), offcpu". Nodes are those of events.tables(). A profile without threads (folded text) is one of
/// them.
std::vector<ThreadSamples> samples_by_thread(const AllEvents& events);

/// Of the first event, the thread with most samples.
std::vector<ThreadSamples>::const_iterator busiest_thread(const std::vector<ThreadSamples>& threads);

}  // namespace flameprobe

// A profile's samples apart by thread, for formats that show each thread on its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct ThreadSamples {
    ThreadId thread = 0;
    std::string name;  // of the thread, with its tid where it has one
    std::uint64_t weight = 0;
    std::vector<const NamedCount*> counts;  // stacks that begin alike are neighbours
};

/// Threads that have samples, by id. A profile without threads (folded text) is one of them.
std::vector<ThreadSamples> samples_by_thread(const NamedProfile& profile);

}  // namespace flameprobe

// What a profile has of requests (docs/requests.md): records beside its samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flameprobe {

/// How long the requests of one label took that ended since the last such record of it (FlameProbe::Request): all of
/// them, exactly counted.
struct RequestTimes {
    std::uint64_t time_ns = 0;  // after the run's start, when they were read
    std::string label;
    std::uint64_t failed = 0;
    std::uint64_t sum_ns = 0;  // of all of them
    std::uint64_t longest_ns = 0;
    std::uint64_t unseen = 0;  // of them, those of which it is not known which samples are theirs
    /// The histogram's cells that are not empty (base/duration_cells.hpp), two numbers each: how far it is behind the
    /// last one, and how many requests it has.
    std::vector<std::uint64_t> cells;
    bool coarse = false;  // put together from several, whose Passings are not kept
};

/// One passing of a request, from its begin to its end, on one thread. All are here in which something was sampled;
/// of others the slowest, and a few by lot.
struct Passing {
    static constexpr std::uint32_t failed = 1, sampled = 2, slow = 4, by_lot = 8;

    std::uint32_t thread = 0;    // its ThreadId
    std::uint32_t label = 0;     // an index into the profile's strings
    std::uint64_t begin_ns = 0;  // after the run's start
    std::uint64_t ns = 0;
    std::uint32_t flags = 0;  // 1: it failed; it is here since it was sampled (2), was slow (4), by lot (8)
};

}  // namespace flameprobe

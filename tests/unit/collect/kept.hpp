#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/record.hpp"
#include "outside/reader.hpp"

namespace flameprobe {

/// Keeps what it is given.
struct Kept final : PartialSink {
    void string(std::uint32_t, const std::string& text) override { strings.push_back(text); }
    void mapping(MappingId id, const Mapping& mapping) override {
        CHECK(id == mappings.size());
        mappings.push_back(mapping);
    }
    void location(LocationId id, const Location& location) override {
        CHECK(id == locations.size());
        CHECK(location.mapping < mappings.size());
        locations.push_back(location);
    }
    void stack(StackId id, const StackNode& node) override {
        CHECK(id == stacks.size());
        CHECK(node.parent < id);
        stacks.push_back(node);
    }
    void thread(ThreadId, const Thread& thread) override { threads.push_back(thread); }
    void sample(const Sample& sample) override { samples.push_back(sample); }

    /// Kinds of the mappings on the path, root first.
    std::vector<MappingKind> path(StackId stack) const {
        std::vector<MappingKind> kinds;
        for (; stack != 0; stack = stacks[stack].parent) {
            kinds.insert(kinds.begin(), mappings[locations[stacks[stack].location].mapping].kind);
        }
        return kinds;
    }

    std::vector<std::string> strings;
    std::vector<Mapping> mappings;
    std::vector<Location> locations;
    std::vector<StackNode> stacks{StackNode{}};
    std::vector<Thread> threads;
    void event_sample(EventId event, const Sample& sample) override { event_samples.emplace_back(event, sample); }

    std::vector<Sample> samples;
    std::vector<std::pair<EventId, Sample>> event_samples;
};

inline TimeSample kernel_sample(std::span<const std::uint64_t> chain) {
    TimeSample raw;
    raw.pid = raw.tid = static_cast<std::uint32_t>(::getpid());
    raw.time_ns = 1000;
    raw.kernel_chain = chain;
    return raw;
}

}  // namespace flameprobe

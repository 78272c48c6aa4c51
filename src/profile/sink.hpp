// What a profile is written to and read through: the profile writer is a sink, and so is everything that reads a file
// block by block without holding it whole.
#pragma once

#include <string>
#include <vector>

#include "profile/model.hpp"

namespace flameprobe {

/// No call has an empty body here: what passes records on would drop a new one without a word.
/// Calls come in order: an id is defined before it is used, and ids of a kind count up from zero (stacks from one).
class ProfileSink {
public:
    virtual ~ProfileSink() = default;

    virtual void run(const RunInfo& info) = 0;
    virtual void string(std::uint32_t id, const std::string& text) = 0;
    virtual void mapping(MappingId id, const Mapping& mapping) = 0;
    virtual void location(LocationId id, const Location& location) = 0;
    virtual void stack(StackId id, const StackNode& node) = 0;
    /// May come again for the same id, when the thread changed its name.
    virtual void thread(ThreadId id, const Thread& thread) = 0;
    virtual void sample(const Sample& sample) = 0;
    /// May come more than once; the last one counts.
    virtual void summary(const Summary& summary) = 0;
    /// Names stored in the profile itself (`flameprobe-render --archive`), innermost first.
    virtual void symbols(LocationId id, const std::vector<ArchivedSymbol>& symbols) = 0;
    /// Ids count up from 1. May come again for the same id.
    virtual void event(EventId id, const EventInfo& info) = 0;
    /// A sample of another event than the run's own: a sink that knows no events must not take it for CPU time.
    virtual void event_sample(EventId event, const Sample& sample) = 0;
    virtual void host(const HostRecord& record) = 0;
};

}  // namespace flameprobe

// Chooses the best engine that the machine and its limits permit, with one sentence that says why it is this one.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "capture/event_source.hpp"
#include "session/options.hpp"

namespace flameprobe {

struct Engine {
    std::unique_ptr<EventSource> source;
    std::uint32_t stack_bytes = 0;  // copied with each sample
    std::string reason;
    std::string warning;  // something asked for that could not be had; empty if all could
    std::string told{};   // of the source's note

    /// Those sentences of the source's note that are new since the last call.
    std::string take_news();
};

/// In the collector thread. An Error is one sentence for the user: nothing can be sampled.
Result<Engine> open_engine(const Options& options);

}  // namespace flameprobe

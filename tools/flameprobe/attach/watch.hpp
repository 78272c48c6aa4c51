// One program of a process that is watched from outside, from when it is found until it ends or becomes another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "recorder.hpp"
#include "session/sampling.hpp"

namespace flameprobe {

class Watch {
public:
    /// `program`: its name, for the profile's.
    Watch(const AttachSettings& settings, Log& log, const std::string& program);

    Result<void> begin();
    enum class End { asked, target_ended, other_program, broken };
    /// Samples until `end` hangs up, or the process's `life` (a pidfd) is over.
    End run(const Descriptor& end, const Descriptor& life);
    /// Completes the profile. It stays in the run's folder.
    void finish() { sampling_.finish(); }

private:
    std::optional<End> wait_and_look(const Descriptor& end, const Descriptor& life, std::uint64_t until_ns);

    Sampling sampling_;
};

}  // namespace flameprobe

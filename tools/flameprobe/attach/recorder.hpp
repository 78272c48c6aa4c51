// Records a process from outside, in a process of its own: which memory and files are read (base/host_process.hpp) is a
// fact of a whole process. Nothing is loaded into the target, and it gets no signal and is never stopped.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "session/options.hpp"

namespace flameprobe {

struct AttachSettings {
    Options options;   // `out` leads to where the run's folder is to be
    timespec start{};  // by CLOCK_REALTIME_COARSE; older results are replaced
    /// Not empty: the recorder gives no messages, since something else has the terminal, completes no profile, and
    /// removes this directory, which is its own, at its end.
    std::string directory = {};
    int interrupted = -1;  // readable: what is waited for is given up; see EndSignals
};

class Recorder {
public:
    /// Returns when the target is sampled. An Error: why it cannot be.
    static Result<Recorder> start(pid_t target, const AttachSettings& settings);
    Recorder(Recorder&&) noexcept = default;
    Recorder& operator=(Recorder&&) = delete;
    /// Ends it, and waits for it.
    ~Recorder() { static_cast<void>(wait_for_end()); }
    void ask_to_end() { end_.reset(); }
    /// Asks it to end and waits for that. What kept it from recording all that was asked for; empty: nothing. Where its
    /// target's memory or files do not answer, AttachSettings::interrupted kills it.
    std::string wait_for_end();

    pid_t target() const { return target_; }
    /// Hangs up (poll(2)) when it has ended, for instance because the target has.
    const Descriptor& life() const { return life_; }

private:
    Recorder(pid_t target, pid_t pid, const AttachSettings& settings, Descriptor end, Descriptor life)
        : target_(target),
          pid_(pid),
          interrupted_(settings.interrupted),
          directory_(settings.directory),
          end_(std::move(end)),
          life_(std::move(life)) {}
    bool read_more(std::string& told);

    pid_t target_, pid_;
    int interrupted_;
    std::string directory_;
    Descriptor end_;   // closed, it ends; also when this process is killed
    Descriptor life_;  // the other end is the recorder's
};

}  // namespace flameprobe

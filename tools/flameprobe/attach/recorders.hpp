// The recorders of a process and, if asked for, of its children, as they come and go.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "recorder.hpp"

namespace flameprobe {

class Recorders {
public:
    /// `tree`: the children and theirs, too.
    Recorders(pid_t root, const AttachSettings& settings, bool tree) : root_(root), settings_(settings), tree_(tree) {}

    /// Starts those of the processes that there are. An Error where the first process cannot be recorded.
    Result<void> start();
    /// Until a descriptor is readable, the time is over, or none of the processes is recorded any more. Looks for new
    /// children meanwhile.
    void wait(int descriptor, std::uint64_t duration_ns);
    /// What wait() does again and again.
    void look();
    /// Ends all, and returns when their profiles are complete. `advice` is what would have had children that were not
    /// seen.
    void end(const std::string& advice = {});

    std::size_t count() const { return recorders_.size(); }
    /// Why children are not recorded, one line each; of those that ended before they were seen, their time.
    const std::vector<std::string>& problems() const { return problems_; }
    /// Whether one of them is that a recording ended before it was to.
    bool failed() const { return failed_; }
    /// CPU time that the first process used while it was recorded.
    std::uint64_t cpu_ns() const { return last_cpu_ns_ - first_cpu_ns_; }

private:
    void add_children();
    void take_end(Recorder& recorder);
    void tell_unseen(const std::string& advice);

    const pid_t root_;
    const AttachSettings settings_;
    const bool tree_;
    std::map<pid_t, Recorder> recorders_;
    std::map<pid_t, std::uint64_t> clocks_;  // of those that are recorded, as last read
    std::uint64_t ended_cpu_ns_ = 0;         // of recorded children that have ended, since their births
    std::uint64_t first_waited_ns_ = 0, last_waited_ns_ = 0;  // of all children that the first process waited for
    std::map<pid_t, int> failures_;
    std::vector<std::string> problems_;
    bool failed_ = false;
    std::uint64_t first_cpu_ns_ = 0, last_cpu_ns_ = 0;
};

/// The children of a process and theirs, without itself. Those of which the kernel does not tell are missing.
std::vector<pid_t> descendants_of(pid_t pid);

}  // namespace flameprobe

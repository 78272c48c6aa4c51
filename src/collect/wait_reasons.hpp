// Why threads wait, added up: the system call, and where the kernel tells it, the place in the kernel (`wchan`).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/counters.hpp"

namespace flameprobe {

/// An index of WaitReasons; 0: no look met the wait.
using WaitReason = std::uint32_t;

/// The collector thread only.
class WaitReasons {
public:
    WaitReasons();

    /// `call` as BlockedThread::call. `channel` may be empty.
    WaitReason find(std::int64_t call, const std::string& channel);
    /// How the call is shown as the last frame of a stack.
    static std::string call_text(std::int64_t call);

    /// `waits`: for how many this one stands.
    void add(WaitReason reason, std::uint64_t ns, double waits);
    /// `all_waits`: the exact number of waits, of which the calls' shares are estimates; 0: not known.
    void add_to(Counters& counters, std::uint64_t all_waits) const;

private:
    struct Sum {
        std::string call, channel;
        std::uint64_t ns = 0;
        double waits = 0;
    };
    std::map<std::pair<std::int64_t, std::string>, WaitReason> known_;
    std::vector<Sum> sums_;  // by WaitReason
};

}  // namespace flameprobe

// The registers a walk carries from frame to frame.
#pragma once

#include <cstdint>

#include "unwind/unwind_rule.hpp"

namespace flameprobe {

struct Cursor {
    /// A register of a blocked thread that only the kernel knows. No address (not canonical), so whatever is read
    /// relative to it is not there.
    static constexpr std::uint64_t unknown = 0xdead'0000'dead'0000;

    std::uint64_t pc = 0, sp = 0, fp = 0, third = 0;
    bool interrupted = true;  // execution stands at pc: the leaf, and what a signal handler interrupted
    bool doubtful = false;    // a frame was crossed without CFI: from here on every return address must follow a call

    std::uint64_t base(RuleBase which) const { return which == RuleBase::sp ? sp : which == RuleBase::fp ? fp : third; }
    std::uint64_t lookup() const { return interrupted ? pc : pc - 1; }
};

}  // namespace flameprobe

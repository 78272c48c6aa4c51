// CPU time in system calls, from the functions of a report.
#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace flameprobe::bench {

struct CallCost {
    std::string name;  // sendto
    double cost = 0;   // CPU nanoseconds per unit of work, in the kernel for this call
};

struct CallCosts {
    std::vector<CallCost> calls;  // the dearest first
    double whole =
        0;  // of all system calls; more than the sum of `calls` by other calls and scheduling at a call's return
};

/// By the kernel's functions of a call (__x64_sys_sendto, do_writev) where its frames may be sampled, else by the frame
/// that stands for them ([kernel: sendto]).
CallCosts system_calls(const PointReport& point);

}  // namespace flameprobe::bench

// A tracer and what it traces take turns: on one CPU a turn is a context switch, on two it wakes an idle one each time.
#pragma once

#include <sched.h>

namespace flameprobe::testing {

/// Keeps the calling thread, and the processes that it forks meanwhile, on the CPU that it is on.
class OnOneCpu {
public:
    OnOneCpu() {
        ::sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
        ::sched_setaffinity(0, sizeof one, &one);
    }
    ~OnOneCpu() { ::sched_setaffinity(0, sizeof before_, &before_); }
    OnOneCpu(const OnOneCpu&) = delete;

private:
    cpu_set_t before_;
};

}  // namespace flameprobe::testing

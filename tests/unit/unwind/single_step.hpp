// Runs a function in a forked child one instruction at a time and records the true callers without any unwinder: it
// watches calls store return addresses, and the stack pointer move past them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "live_map.hpp"

namespace flameprobe::testing {

/// Before every instruction of the child.
struct Instant {
    pid_t process;
    std::size_t number;  // from 0, the stepped function's first instruction
    Snapshot snapshot;   // its stack is whole at each stride-th instant, else a few words
    /// The addresses to look up of the frames above the leaf, nearest first, as far out as the stepped function's
    /// caller.
    std::vector<std::uint64_t> callers;
};

/// How much is looked at: by default all, which takes seconds.
struct Stepping {
    std::size_t stride = 1;
    std::size_t most = ~std::size_t{0};  // instants of one function, which then goes on untraced
};

enum class Stepped { whole, refused };  // refused: this machine forbids ptrace

/// Instructions before a jump out of several frames (an exception's landing, longjmp) in which the library that jumps
/// rewrites saved registers and return addresses in place: libgcc's uw_install_context, glibc's __longjmp.
constexpr std::size_t jump_preparation = 300;
/// Instructions behind the one that moved the stack pointer, before such a jump is over.
constexpr std::size_t jump_completion = 3;

/// Forks; the child runs `function`. `watch` sees every instant from the function's first instruction to its return, or
/// as many as `stepping` says. The child's memory starts as a copy of this process's, so code and tables are at the
/// same addresses here. `jumped` is called for every such jump, before the instant that it leads to.
Stepped single_step(void (*function)(), const Stepping& stepping, const std::function<void(const Instant&)>& watch,
                    const std::function<void()>& jumped);

}  // namespace flameprobe::testing

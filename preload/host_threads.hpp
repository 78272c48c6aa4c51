#pragma once

namespace flameprobe {

/// The calling thread is the host's first: called once, before main.
void count_threads_from_here();
/// In a forked child, whose only thread is the caller.
void forget_other_threads();

}  // namespace flameprobe

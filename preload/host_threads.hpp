#pragma once

namespace flameprobe {

/// Counts the host's threads from now on. To be called once, before main, by its first thread.
void count_threads_from_here();
/// To be called in a forked child, whose only thread is the caller.
void forget_other_threads();
/// Whether the host has no thread but the caller, as far as they are counted. Async-signal-safe.
bool has_one_thread() noexcept;

}  // namespace flameprobe

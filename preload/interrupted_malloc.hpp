#pragma once

namespace flameprobe {

/// Whether the caller is in a signal handler that interrupted libc while it held malloc's lock. Then libc's fork would
/// wait for that lock for ever, since with the collector's thread there are two: alone, with one, it takes none.
/// Async-signal-safe.
bool is_in_interrupted_malloc() noexcept;

}  // namespace flameprobe

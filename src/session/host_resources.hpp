// The host's own resources: what it gives up at its end as if it did not wait for its results, its connections (so that
// its ports can be taken again and its peers see the end) and its interval timers; and the memory that it locks.
#pragma once

namespace flameprobe {

/// Closes the process's TCP sockets, the listening ones and the connected ones, but not 0, 1 and 2. In the place of
/// each there is another socket, on which nothing ever arrives: code that still runs, as of a thread that begins just
/// then, meets no error. Does nothing where the host has another thread: that may give a number to another file at any
/// time, which dup3(2) would close. `own_threads`: how many of the process's threads are ours. To be called after the
/// host's last own code. Async-signal-safe.
void close_connections(unsigned own_threads) noexcept;

/// Stops the process's interval timers (setitimer(2)): one that expires while the results are written would end the
/// process by its signal, for which a runtime may have restored the default action by now, as Python does. To be called
/// after the host's last own code. Async-signal-safe.
void stop_interval_timers() noexcept;

/// mlockall(2) with MCL_CURRENT refuses if the whole address space is larger than RLIMIT_MEMLOCK, and ours is tens of
/// megabytes, most of it a heap of libc's that is hardly used. Does what was asked for without ours, if the rest is
/// small enough. Allocates.
bool lock_host_memory(int flags);

}  // namespace flameprobe

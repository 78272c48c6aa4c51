// Loading the core. This library itself needs nothing but libc, so that it cannot fail to load, and nothing that it is
// linked with can meet a symbol of the host.
#pragma once

#include "session/core_api.h"

namespace flameprobe {

/// The core, opened the first time; null if it cannot be (then a line on stderr has said why, once). Thread-safe, but
/// not async-signal-safe the first time.
const flameprobe_core* core();
/// Whether ThreadSanitizer is in the host, whose malloc has to know the threads that call it. False without a core.
bool knows_threads();
/// Held while the core, or a library of it, is opened, and by threads in fork: a child made meanwhile would find the
/// dynamic linker's tables half written, and could not use it.
void lock_core_opening();
/// Whether it was locked. Not if another thread opens a library for a tenth of a second: that one may itself be
/// waiting, for the lock that the dynamic linker holds while it runs a constructor that forks, and then writes nothing.
bool lock_core_opening_for_fork();
void unlock_core_opening();
void reset_core_opening_in_child();
/// The core if it has been opened. Async-signal-safe.
const flameprobe_core* core_if_loaded() noexcept;

}  // namespace flameprobe

// The host's signal actions as the host sees them.
#pragma once

#include <signal.h>

namespace flameprobe {

using SetSignalAction = int(int, const struct sigaction*, struct sigaction*);
/// sigaction(2): in a host that of libflameprobe.so, which the core does not find under libc's name (preload/core.cpp).
inline constinit SetSignalAction* host_sigaction = ::sigaction;

}  // namespace flameprobe

// Interruption by Ctrl-C, SIGTERM or SIGHUP: the bench ends its programs in order, and keeps its measurements.
#pragma once

namespace flameprobe::bench {

/// From here on SIGINT, SIGTERM and SIGHUP only set a flag; system calls that wait return EINTR.
void watch_for_interruption();
/// The signal that came, or 0.
int interruption() noexcept;

}  // namespace flameprobe::bench

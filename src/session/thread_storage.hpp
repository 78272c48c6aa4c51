#pragma once

namespace flameprobe {

/// Gives the calling thread its thread-local storage of every library that is loaded now. Else it comes with the first
/// access, and where there is no memory for it then, glibc ends the process (dl-tls.c, status 127): libelf, for one,
/// first accesses its own to note that it has got no memory. Not for signal handlers; allocates.
void allocate_thread_storage();

}  // namespace flameprobe

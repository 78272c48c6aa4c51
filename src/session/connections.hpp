// Closes the connections of a process that waits for its results at its end: its ports can be taken again, and its
// peers see the end, as if the process did not wait.
#pragma once

namespace flameprobe {

/// Closes the process's TCP sockets, the listening ones and the connected ones, but not 0, 1 and 2. In the place of
/// each there is another socket, on which nothing ever arrives: threads that still run, and would have ended with the
/// process by now, meet no error. A port that another thread just then waits for in accept(2) itself stays taken. To be
/// called after the host's last own code. Async-signal-safe.
void close_connections() noexcept;

}  // namespace flameprobe

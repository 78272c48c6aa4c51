#pragma once

namespace flameprobe {

/// `flameprobe top PID`; returns the exit status.
int top_command(int argc, char* argv[]);

}  // namespace flameprobe

#pragma once

namespace flameprobe {

/// `flameprobe push ...`; `argv[0]` is "push". Returns the exit status.
int push_command(int argc, char* argv[]);

}  // namespace flameprobe

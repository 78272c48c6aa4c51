#pragma once

namespace flameprobe {

/// `flameprobe run [OPTIONS] [--] COMMAND [ARGUMENTS]`; `argv[0]` is "run". Returns the exit status.
int run_command(int argc, char* argv[]);

}  // namespace flameprobe

#pragma once

namespace flameprobe {

/// The program flameprobe, which has its functions as commands. Returns the exit status.
int flameprobe_program(int argc, char* argv[]);

}  // namespace flameprobe

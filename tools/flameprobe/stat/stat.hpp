#pragma once

namespace flameprobe {

/// `flameprobe stat -- COMMAND`. Ends as the command ends; 2 for usage.
int stat_command(int argc, char* argv[]);

}  // namespace flameprobe

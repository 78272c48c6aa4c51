#pragma once

namespace flameprobe {

/// `flameprobe compare OLD NEW`. Exit status: 0 done, 1 bad input, 2 usage, 3 above --fail-above.
int compare_command(int argc, char* argv[]);

}  // namespace flameprobe

#pragma once

namespace flameprobe {

/// `flameprobe bench`. Exit status: 0 all runs went well, 1 some failed, 2 usage or a bad file, 128 + n interrupted.
int bench_command(int argc, char* argv[]);

}  // namespace flameprobe

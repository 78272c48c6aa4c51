#pragma once

namespace flameprobe {

/// `flameprobe doctor [PROGRAM]`; `argv[0]` is "doctor". Returns 0 if everything needed works, 1 if nothing could be
/// sampled, 2 for wrong usage.
int doctor_command(int argc, char* argv[]);

}  // namespace flameprobe

#pragma once

namespace flameprobe {

/// The program flameprobe-render: from profiles and folded stacks to pictures, tables and other tools' formats. Returns
/// the exit status.
int render_program(int argc, char* argv[]);

}  // namespace flameprobe

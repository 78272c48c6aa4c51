// flameprobe-draw: started by the library in the profiled program, not by users: for a run's folder at its end, or with
// --stem for one profile. Its lines on standard output are for the library: "wrote PATH", "problem: SENTENCE", "done",
// and an empty one after a step of its work.
#pragma once

namespace flameprobe {

/// Returns the exit status.
int draw_program(int argc, char* argv[]);

}  // namespace flameprobe

// Names of code that is compiled at run time, from the files jit-PID.dump that node --perf-prof, perf's agent for the
// JVM, LLVM and others write for `perf inject --jit` (tools/perf/Documentation/jitdump-specification.txt).
#pragma once

#include <string>

#include "base/descriptor.hpp"

namespace flameprobe {

/// For reading, if it is a regular file of this user's or root's, and no symbolic link; otherwise an empty descriptor.
Descriptor open_trusted(const std::string& path);

/// Its functions, as lines of a perf map (PerfMap::parse) in order of time; empty if there is no dump that may be
/// trusted (open_trusted()). What cannot be read as a dump ends it, so that a file that still grows may be read.
std::string read_jit_dump(const std::string& path);

}  // namespace flameprobe

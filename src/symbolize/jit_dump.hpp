// Names of code that is compiled at run time, from the files jit-PID.dump that node --perf-prof, perf's agent for the
// JVM, LLVM and others write for `perf inject --jit` (tools/perf/Documentation/jitdump-specification.txt).
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.hpp"

namespace flameprobe {

/// Opens a file for reading if it is a regular file of this user or of root, and no symbolic link; otherwise gives an
/// empty descriptor, and adds a warning if there is such a file.
Descriptor open_trusted(const std::string& path, std::vector<std::string>& warnings);

/// The functions of a dump, as lines of a perf map (PerfMap::parse) in order of time; empty if there is no dump that
/// may be trusted (open_trusted()). Reading ends at the first bytes that are no whole record, so the file may still be
/// growing.
std::string read_jit_dump(const std::string& path, std::vector<std::string>& warnings);

}  // namespace flameprobe

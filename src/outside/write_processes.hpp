// The one `.fprobe` of a run is made of its processes' profiles.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/byte_sink.hpp"
#include "base/result.hpp"
#include "outside/processes.hpp"

namespace flameprobe {

/// How many processes there are, by the heads of the blocks alone; 1 for what is no `.fprobe`.
std::size_t count_processes(const std::string& path);

/// A block that says anew what is known of the run: a reader takes the last one.
std::string run_block(const RunInfo& run);

/// Writes a `.fprobe` of these processes, whose profiles may be in several files: each one's blocks as they are.
Result<void> write_processes(const std::vector<ProcessPart>& parts, const ByteSink& out);

}  // namespace flameprobe

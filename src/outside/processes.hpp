// The processes of one run in one `.fprobe`: each one's profile as it was recorded, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "outside/byte_stream.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// One process's profile in a file.
struct ProcessPart {
    std::string path;
    std::shared_ptr<const OutputDirectory> in = {};  // where its last name is looked up; nothing: by the path
    RunInfo run;
    Summary summary;
    std::optional<Mapping> executable;  // of the program, if a sample was in it
    std::uint64_t hits = 0;             // of all its samples
    std::uint64_t weight = 0;           // of those of the run's own event
    bool has_samples = false;           // or CPU time that is known without one
    std::uint64_t begin = 0, end = 0;   // of its whole blocks, in bytes
    std::string more;                   // whole blocks that are written behind these
};

/// The processes of the `.fprobe` at `path`, in its order. What follows the last whole block, after a kill, belongs to
/// none. Errors as read_profile(). Of a path with `in` only the last name is looked up, there.
Result<std::vector<ProcessPart>> processes_of(const std::string& path,
                                              const std::shared_ptr<const OutputDirectory>& in = {});

/// How many processes there are, by the heads of the blocks alone; 1 for what is no `.fprobe`.
std::size_t count_processes(const std::string& path);

/// A block that says anew what is known of the run: a reader takes the last one.
std::string run_block(const RunInfo& run);

/// Writes a `.fprobe` of these processes, whose profiles may be in several files: each one's blocks as they are.
Result<void> write_processes(const std::vector<ProcessPart>& parts, const ByteSink& out);

}  // namespace flameprobe

#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "outside/byte_source.hpp"
#include "profile/sink.hpp"

namespace flameprobe {

struct ReadOutcome {
    std::uint64_t blocks = 0;
    std::uint64_t bytes_ignored = 0;  // after the last whole block: the host was killed while it was being written
    std::string why_ignored;
};

/// Reads one process's profile into `sink`, block by block, in bounded memory: that of a `.fprobe`'s first process, or
/// of the next one where `source` stands before another (has_more()). Bytes after the last whole block are ignored and
/// reported. A file that is not a `.fprobe`, or whose blocks are whole but contradict each other, is an Error that
/// names the file, the offset and the reason. May throw what the sink throws, and std::bad_alloc.
Result<ReadOutcome> read_profile(const std::string& path, ProfileSink& sink);
Result<ReadOutcome> read_profile(ByteSource& source, ProfileSink& sink);

/// To be asked after read_profile(): whether the input goes on with another process.
Result<bool> has_more(ByteSource& source);

/// Whether the input begins as a `.fprobe` of any version.
Result<bool> is_profile(ByteSource& source);

}  // namespace flameprobe

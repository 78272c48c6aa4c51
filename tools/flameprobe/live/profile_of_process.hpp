// Finds the profile of a running process.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

struct OpenProfile {
    std::string path;  // its name, for people: it may lead to another file by now
    Descriptor file;

    /// One at a time.
    ByteSource from_start() const;
};

/// The `.fprobe` that is being written for process `pid`: of the files that its threads, or the collectors beside it,
/// have open to write, the one whose run is that process. Any process may call itself a collector and open any file, so
/// only those of the process's user, of root and of the running user are believed, and only regular files of theirs. An
/// Error if there is none, or this user may not see it.
Result<OpenProfile> profile_of_process(pid_t pid);

}  // namespace flameprobe

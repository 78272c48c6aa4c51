#pragma once

#include <string>

#include "base/descriptor.hpp"

namespace flameprobe {

/// Opens a regular file to read it; nothing if there is none. A FIFO or a device in its place is not waited for.
Descriptor open_regular_file(const std::string& path);

/// The file to which `path` leads for the host. Where that is a process that is watched (base/host_process.hpp), its
/// root may be another than ours, a container's: the path is looked up below it first.
Descriptor open_host_file(const std::string& path);

}  // namespace flameprobe

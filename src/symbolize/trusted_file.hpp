// Files that a process writes about its own code, in places where others may write too.
#pragma once

#include <string>

#include "base/descriptor.hpp"

namespace flameprobe {

/// For reading, if it is a regular file of this user's or root's, and no symbolic link; otherwise an empty descriptor.
Descriptor open_trusted(const std::string& path);

}  // namespace flameprobe

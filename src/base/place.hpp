// Where a path leads to the same file: one boot, mount namespace and root directory.
#pragma once

#include <string>

namespace flameprobe {

/// "BOOT-ID MNT-NAMESPACE ROOT", the latter two as DEVICE:INODE, of a process by its directory in /proc ("/proc/self");
/// empty where /proc does not tell it. Equal texts mean that paths of the one are paths of the other.
std::string place_of(const std::string& process);

/// The same boot, though perhaps another container. False where one is empty.
bool same_boot(const std::string& one, const std::string& other);

}  // namespace flameprobe

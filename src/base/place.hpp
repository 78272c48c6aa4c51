// Tells whether a path leads to the same file for two processes: if boot, mount namespace and root directory are the
// same.
#pragma once

#include <string>

namespace flameprobe {

/// "BOOT-ID MNT-NAMESPACE ROOT", the latter two as DEVICE:INODE, of a process by its directory in /proc ("/proc/self");
/// empty where /proc does not give it. For processes with equal texts a path leads to the same file.
std::string place_of(const std::string& process);

/// The same boot, though perhaps another container. False where one is empty.
bool same_boot(const std::string& one, const std::string& other);

}  // namespace flameprobe

// FLAMEPROBE_PUSH: windows for `flameprobe push`. Names that begin with a dot are being written; the uploader takes
// what a killed program left under one after a minute.
#pragma once

#include <cstdint>
#include <string>

namespace flameprobe {

/// FLAMEPROBE_OUT for windows in `directory`.
std::string window_pattern(const std::string& directory);

/// The same of windows that are finished.
std::string finished_pattern(const std::string& directory);

/// Makes the directory, for this user only, if there is none. Empty, or why nothing may be written there: it is a link,
/// or others could put their files in the place of ours.
std::string prepare_spool(const std::string& directory);

/// How long the first window is: up to `every_ns`, at random, so that the programs of a host do not end theirs
/// together.
std::uint64_t first_window_ns(std::uint64_t every_ns);

/// Gives the finished window the name under which the uploader finds it.
void publish_window(const std::string& path);

}  // namespace flameprobe

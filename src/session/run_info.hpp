#pragma once

#include <string>
#include <string_view>

#include "profile/model.hpp"

namespace flameprobe {

/// What is known of the host before sampling starts; engine and event are filled in by the collector.
RunInfo describe_process();
/// /proc/PID/cmdline as a shell would take it, an empty argument being ''; a title that the program wrote over its
/// arguments as it stands.
std::string command_text(std::string_view arguments);
/// The base name of the executed file.
std::string executable_name();
/// The working directory, "/" if it is gone.
std::string working_directory();
/// Where the collector in a host began, or empty. It leaves it, so that the host may unmount it.
extern char began_in[];
void note_working_directory() noexcept;

}  // namespace flameprobe

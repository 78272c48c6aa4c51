#pragma once

#include <string>

#include "profile/model.hpp"

namespace flameprobe {

/// What is known of this process before sampling starts; engine and event are filled in by the collector.
RunInfo describe_process();
/// The base name of what was executed.
std::string executable_name();
/// The working directory, "/" if it is gone.
std::string working_directory();

}  // namespace flameprobe

#pragma once

#include <string>

namespace flameprobe {

/// Whether files that git knows have changed in the working directory since its commit: "yes", "no", or "not known".
/// Runs git.
std::string dirty_text();

}  // namespace flameprobe

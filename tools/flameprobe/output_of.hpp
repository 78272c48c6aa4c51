#pragma once

#include <string>
#include <vector>

namespace flameprobe {

/// What a program prints on standard output; empty if it cannot be run, fails or prints more than `most` bytes. No
/// shell is involved.
std::string output_of(const std::vector<std::string>& command, std::size_t most = std::size_t{64} << 20);

/// Whether files that git knows have changed in the working directory since its commit: "yes", "no", or "not known".
/// Runs git.
std::string dirty_text();

}  // namespace flameprobe

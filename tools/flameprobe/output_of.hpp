#pragma once

#include <string>
#include <vector>

namespace flameprobe {

/// What a program prints on standard output; empty if it cannot be run or fails. No shell is involved.
std::string output_of(const std::vector<std::string>& command);

}  // namespace flameprobe

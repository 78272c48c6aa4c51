// Results of the bench that were packed, as a CI job keeps them.
#pragma once

#include <string>

#include "measurement.hpp"

namespace flameprobe::compare {

/// By its name: .tar, .tgz, .tar.gz, .tar.xz, .tar.zst.
bool is_archive(const std::string& path);
/// The report in it, unpacked by tar(1).
Result<Measurement> read_archive(const std::string& path);

}  // namespace flameprobe::compare

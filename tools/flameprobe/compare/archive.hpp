// Results of the bench in an archive, as a CI job keeps them.
#pragma once

#include <string>

#include "measurement.hpp"

namespace flameprobe::compare {

/// Whether the name ends in .tar, .tgz, .tar.gz, .tar.xz or .tar.zst.
bool is_archive(const std::string& path);
/// Reads the report in the archive, unpacked by tar(1).
Result<Measurement> read_archive(const std::string& path);

}  // namespace flameprobe::compare

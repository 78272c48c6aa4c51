// Finds the results that name a side of a comparison: a path, a git revision whose results are in a store directory, or
// an archive, as a CI job keeps them.
#pragma once

#include <string>

#include "base/result.hpp"
#include "measurement.hpp"

namespace flameprobe::compare {

/// The path itself where there is one; else the newest results of the commit that git knows by this name, in `store`,
/// a directory of directories DATE-COMMIT as flameprobe bench makes them. Runs git in the working directory.
Result<std::string> find_side(const std::string& name, const std::string& store);
/// The newest DATE-COMMIT or DATE-COMMIT.NUMBER of that commit that has a report; empty if there is none.
std::string newest_of(const std::string& commit, const std::string& store);

/// Reads the report in the archive, unpacked by tar(1).
Result<Measurement> read_archive(const std::string& path);

}  // namespace flameprobe::compare

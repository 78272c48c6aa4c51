// Reads numbers from the output of a load.
#pragma once

#include <optional>
#include <string>

#include "bench_file.hpp"

namespace flameprobe::bench {

/// The first group of the last line of the file that matches, without thousands separators; lines end at carriage
/// returns too (progress lines). Nothing where no line matches or the group is no number.
std::optional<double> read_number(const std::string& pattern, const std::string& file);
/// For an error's message: the last line of the file that is not empty, or that there is none.
std::string last_line(const std::string& file);

}  // namespace flameprobe::bench

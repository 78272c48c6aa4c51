// The processes of one run in one picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// One process's part of the run.
struct ProcessShare {
    std::string name;
    std::uint32_t pid = 0;
    std::uint64_t cpu_ns = 0;
    std::uint64_t weight = 0;
    std::uint64_t samples = 0;  // hits
};

/// Puts a frame "name pid" below all stacks of the profile, which must be of one process.
ProcessShare put_process_first(NamedProfile& profile);
/// A line for each process, the heaviest first; several profiles of one process are one line.
std::string process_table(const std::vector<ProcessShare>& shares);
/// The number of processes, which is the number of lines in the table.
std::size_t count_processes(const std::vector<ProcessShare>& shares);

}  // namespace flameprobe

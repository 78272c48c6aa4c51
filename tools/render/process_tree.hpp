// The processes of one run in one picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/processes.hpp"
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

/// What the first frame of each process says: its name and pid, or for many of one name "cc1 × 96".
class ProcessNames {
public:
    ProcessNames() = default;
    /// Of processes that have samples.
    explicit ProcessNames(const std::vector<ProcessPart>& parts);
    std::string of(const RunInfo& run) const;
    /// Processes that have samples.
    std::size_t count() const { return processes_; }

private:
    std::map<std::string, std::size_t> alike_;  // by name
    std::size_t processes_ = 0;
};

/// "make and its children, 5 processes"; empty if only one has samples.
std::string processes_of_run(const std::vector<ProcessPart>& parts);

/// Puts a frame with the process's name below all stacks of the profile, which must be of one process.
ProcessShare put_process_first(NamedProfile& profile, const ProcessNames& names);
/// A line for each process, the heaviest first; several profiles of one process are one line.
std::string process_table(const std::vector<ProcessShare>& shares);
/// The number of processes, which is the number of lines in the table.
std::size_t count_processes(const std::vector<ProcessShare>& shares);

}  // namespace flameprobe

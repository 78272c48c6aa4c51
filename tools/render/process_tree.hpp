// The processes of one run in one picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "outside/processes.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// What a process is called, and what its first frame says: its name and pid, or for many of one name "cc1 × 96".
class ProcessNames {
public:
    ProcessNames() = default;
    /// Of processes that have samples.
    explicit ProcessNames(const std::vector<ProcessPart>& parts);
    /// Its program, and what it is for where it says so: "postgres: walwriter", "nginx: worker process".
    std::string name(const RunInfo& run) const;
    std::string of(const RunInfo& run) const;
    /// Whether the process's threads are told apart from those of others of its name: there are not too many.
    bool are_apart(const RunInfo& run) const;
    /// Processes that have samples.
    std::size_t count() const { return count_; }

private:
    using Key = std::pair<std::uint32_t, std::string>;  // pid and program

    std::size_t alike(const RunInfo& run) const;
    void name_launchers(const std::vector<ProcessPart>& parts);

    std::map<Key, std::string> names_;
    std::map<std::string, std::size_t> alike_;  // by name
    std::size_t count_ = 0;
};

/// "make and its children, mostly cc1, 5 processes"; empty if only one has samples. Parts are in the order of their
/// beginning.
std::string processes_of_run(const std::vector<ProcessPart>& parts);

/// Puts a frame with the process's name below all stacks of the profile, which must be of one process.
ProcessShare put_process_first(NamedProfile& profile, const ProcessNames& names);
/// ProcessShare::time_ns of a process whose samples weigh `weight`.
std::uint64_t time_of(const RunInfo& run, const Summary& summary, std::uint64_t weight);
/// The heaviest first; several profiles of one process are one.
std::vector<ProcessShare> by_process(const std::vector<ProcessShare>& shares);
/// A line for each, of what by_process() gave.
std::string process_table(const std::vector<ProcessShare>& processes);

}  // namespace flameprobe

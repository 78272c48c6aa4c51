// Waiting time of a command, measured by FlameProbe in its processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../child.hpp"
#include "base/result.hpp"
#include "outside/own_directory.hpp"
#include "profile/counters.hpp"

namespace flameprobe::counting {

struct Waiting {
    std::string why_not;  // one sentence, where it is not known
    std::uint64_t blocked_ns = 0, preempted_ns = 0;
    std::uint64_t waits = 0;  // 0: not known
    std::vector<BlockedCall> calls;
    std::uint64_t processes = 0;
};

/// Loads the library into the command and its children. Their profiles are in a temporary directory, which the
/// destructor removes.
class WaitingRun {
public:
    /// An Error where the library or a temporary directory is missing.
    static Result<WaitingRun> prepare(const std::string& command);
    WaitingRun(WaitingRun&& other) noexcept;
    WaitingRun(const WaitingRun&) = delete;
    ~WaitingRun();

    const Child::Environment& environment() const { return environment_; }
    /// After the command has ended.
    Waiting read() const;

private:
    WaitingRun() = default;

    std::filesystem::path directory_;
    std::optional<OwnDirectory> own_;  // the same, open
    std::string obstacle_;
    Child::Environment environment_;
};

}  // namespace flameprobe::counting

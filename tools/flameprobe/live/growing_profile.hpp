// A profile that is still being written, read again and again. The host pays nothing: only its file is read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "symbolize/load.hpp"

namespace flameprobe {

class GrowingProfile {
public:
    /// Nothing is read yet; the process may be one that has not begun to write.
    explicit GrowingProfile(pid_t pid) : pid_(pid) {}

    /// All of it, or of the last `window_ns` of its run (of all where that is not known yet, at the first call).
    /// `times` as in SampleFilter. An Error as long as there is nothing to read.
    Result<NamedProfile> read(std::optional<std::uint64_t> window_ns, bool times);
    /// Whether the file has since the last read().
    bool has_grown() const;
    bool running() const;
    pid_t pid() const { return pid_; }
    const std::string& path() const { return path_; }
    /// How long to wait between reads, so that reading takes a tenth of one CPU at most: a second or more.
    std::chrono::milliseconds pause() const;

private:
    pid_t pid_;
    std::string path_;  // empty: not found yet
    std::uint64_t size_ = 0;
    std::uint64_t start_unix_ns_ = 0;  // 0: not known yet
    std::uint64_t ended_ns_ = 0;       // after the start; 0: not known to have ended
    std::chrono::nanoseconds took_{};
    SymbolCache names_;
};

}  // namespace flameprobe

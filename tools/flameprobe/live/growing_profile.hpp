// A profile that is still being written, read again and again. It costs the host nothing: only its file is read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "profile_of_process.hpp"
#include "symbolize/load.hpp"

namespace flameprobe {

class GrowingProfile {
public:
    /// Reads nothing yet; the process need not have begun to write.
    explicit GrowingProfile(pid_t pid) : pid_(pid) {}

    /// Opens the file, if there is one by now: it can be read after the process's end then.
    Result<void> find();
    /// Of the program that the process has executed by now (exec), which has another file. The whole profile, or the
    /// last `window_ns` of its run (at the first call the whole, if the run's length is not known yet). `times` as in
    /// SampleFilter. `event`: empty for the first one that was asked for and has samples. Where no thread woke that is
    /// where all of them wait. An Error as long as there is nothing to read.
    Result<NamedProfile> read(std::optional<std::uint64_t> window_ns, bool times, const std::string& event = {});
    /// How large the file was at the last read(); whether it is larger, or another one, by now.
    std::uint64_t size() const { return size_; }
    bool has_grown(std::uint64_t since);
    bool running() const;
    pid_t pid() const { return pid_; }
    bool found() const { return profile_.has_value(); }
    /// How long to wait between looks and reads, so that they take a tenth of one CPU at most: a second or more.
    std::chrono::milliseconds pause() const;

private:
    bool is_replaced() const;
    Result<void> look();
    Result<NamedProfile> load(const SampleFilter& filter);
    Result<NamedProfile> load_with_samples(SampleFilter filter);

    pid_t pid_;
    std::optional<OpenProfile> profile_;
    std::uint64_t size_ = 0;
    std::uint64_t start_unix_ns_ = 0;             // 0: not known yet
    std::uint64_t ended_ns_ = 0;                  // after the start; 0: not known to have ended
    std::chrono::nanoseconds looked_{}, took_{};  // the last look for the file, and the last reading of it
    SymbolCache names_;
};

}  // namespace flameprobe

// The directory in which programs leave their windows: which ones may be sent, and which have to be dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace flameprobe::push {

/// Counts of windows since the spool was first used (`since`); kept in the spool as JSON.
struct Counts {
    std::uint64_t sent = 0, sent_bytes = 0;  // windows; bytes of requests
    std::uint64_t requests = 0, retries = 0;
    std::uint64_t refused = 0;                     // by the server: they lie in `reject`
    std::uint64_t dropped = 0, dropped_bytes = 0;  // for --max-bytes and --max-age
    std::uint64_t unreadable = 0;                  // no profiles: they lie in `reject`
    std::uint64_t since = 0;                       // Unix time in seconds
    std::string last_error;

    bool operator==(const Counts&) const = default;
};

struct Window {
    std::string name;
    std::uint64_t bytes = 0;
    std::time_t written = 0;  // its last change
};

/// One thread. Files whose names begin with a dot are being written, or are the uploader's own. No link is followed.
class SpoolDirectory {
public:
    /// An Error if it is not a directory of this user that no other can rename files in (the sticky bit is enough).
    /// `make`: where there is none it is made, but not the ones above it.
    static Result<SpoolDirectory> open(const std::string& path, bool make = true);

    /// Finished windows, oldest first. What a killed program left is finished a minute after its last change.
    std::vector<Window> windows();
    /// Other users' files that windows() left out, when it was last called.
    std::uint64_t of_other_users() const { return of_other_users_; }
    /// From now on windows() has other users' files. An Error if the spool's sticky bit keeps this user from deleting
    /// them.
    Result<void> take_other_users();

    /// Opens a regular file that is no link; the Error says what else it is.
    Result<Descriptor> open_window(const std::string& name) const;
    /// Deletes a window. If that fails, windows() leaves it out from now on, so that it is not sent again; the Error
    /// says why.
    Result<void> remove(const std::string& name);
    /// Moves a window into `reject`, with `answer` beside it; a window that cannot be moved is deleted.
    Result<void> reject(const std::string& name, const std::string& answer);
    /// Drops the oldest windows that are not in `sending`, and the oldest rejected ones, until both bounds hold.
    void bound(std::uint64_t most_bytes, std::chrono::seconds most_age, const std::vector<Window>& sending,
               Counts& counts);

    Counts read_counts() const;
    void write_counts(const Counts& counts) const;
    const std::string& path() const { return path_; }

private:
    SpoolDirectory(std::string path, Descriptor directory) : path_(std::move(path)), directory_(std::move(directory)) {}

    Descriptor rejected() const;

    std::string path_;
    Descriptor directory_;
    std::set<std::string> undeletable_;
    bool other_users_ = false;
    std::uint64_t of_other_users_ = 0;
};

}  // namespace flameprobe::push

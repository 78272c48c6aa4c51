#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace flameprobe {

/// What tells a file from another one that later lies at the same path.
struct FileIdentity {
    std::uint64_t device = 0;   // as st_dev
    std::uint64_t inode = 0;    // 0: nothing is known
    std::uint64_t size = 0;     // bytes
    std::uint64_t time_ns = 0;  // of the last change of its contents, since 1970

    static FileIdentity of(const struct stat& status) {
        return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), ns_of(status.st_mtim)};
    }
    bool known() const { return inode != 0; }

    auto operator<=>(const FileIdentity&) const = default;
};

/// Where a path is looked up, and how.
struct LookUp {
    int root = -1;      // a descriptor of the directory that paths and links below it begin at; -1: this process's own
    bool links = true;  // a symbolic link at the end is followed
};

/// What a path leads to, looked at without opening it: a FIFO that is opened lets a writer go on, and of a device
/// anything may come. Where there is none, errno says why.
class FoundFile {
public:
    explicit FoundFile(std::string path, LookUp how = {});

    explicit operator bool() const { return static_cast<bool>(place_); }
    const struct stat& status() const { return status_; }
    bool is_regular() const { return place_ && S_ISREG(status_.st_mode); }
    /// To read it: nothing, with errno, unless it is a regular file that may be read.
    Descriptor open() const;

private:
    Descriptor look_up(int flags) const;

    std::string path_;
    LookUp how_;
    Descriptor place_;
    struct stat status_ {};
};

/// Opens a regular file to read it; nothing if there is none.
Descriptor open_regular_file(const std::string& path);

/// The directory that is the root of the process that is watched (base/host_process.hpp): it may be another than ours,
/// a container's.
Descriptor host_root();

/// The file to which `path` leads for the host. Where that is a process that is watched, the path is looked up below
/// its root first.
Descriptor open_host_file(const std::string& path);

}  // namespace flameprobe

#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/host_process.hpp"

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
    explicit FoundFile(std::string path, LookUp how = {}) : path_(std::move(path)), how_(how), place_(look_up(O_PATH)) {
        if (place_ && ::fstat(place_.get(), &status_) != 0) place_.reset();
    }

    explicit operator bool() const { return static_cast<bool>(place_); }
    const struct stat& status() const { return status_; }
    bool is_regular() const { return place_ && S_ISREG(status_.st_mode); }
    /// To read it: nothing, with errno, unless it is a regular file that may be read.
    /// By the kernel's link to what was looked at: under the path there may be another file by now. Not by a thread of
    /// the host, see collector_is_thread.
    Descriptor open() const {
        constexpr int how = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        if (!place_) return {};
        if (!is_regular()) {
            errno = EINVAL;
            return {};
        }
        Descriptor file;
        if (!collector_is_thread)
            file = Descriptor(::open(("/proc/self/fd/" + std::to_string(place_.get())).c_str(), how));
        if (!file && (collector_is_thread || errno == ENOENT)) file = look_up(how);  // or there is no /proc here
        struct stat opened {};
        if (!file || ::fstat(file.get(), &opened) != 0) return {};
        if (opened.st_dev == status_.st_dev && opened.st_ino == status_.st_ino) return file;
        errno = ESTALE;
        return {};
    }

private:
    // Links below the root of another process are followed within that root. Linux before 5.6 has no openat2(2): there
    // nothing is found below another root.
    Descriptor look_up(int flags) const {
        flags |= O_CLOEXEC | (how_.links ? 0 : O_NOFOLLOW);
        if (how_.root < 0) return Descriptor(::open(path_.c_str(), flags));
        open_how within{};
        within.flags = static_cast<std::uint64_t>(flags);
        within.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
        return Descriptor(static_cast<int>(::syscall(SYS_openat2, how_.root, path_.c_str(), &within, sizeof within)));
    }

    std::string path_;
    LookUp how_;
    Descriptor place_;
    struct stat status_ {};
};

/// Opens a regular file to read it; nothing if there is none.
inline Descriptor open_regular_file(const std::string& path) { return FoundFile(path).open(); }

/// The directory that is the root of the process that is watched (base/host_process.hpp): it may be another than ours,
/// a container's.
inline Descriptor host_root() {
    return Descriptor(::open((host_proc_directory() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// The file to which `path` leads for the host. Where that is a process that is watched, the path is looked up below
/// its root first.
/// Not below its root only: what a process in chroot(2) maps, /proc/PID/maps tells by our root, the kernel's records by
/// the process's own.
inline Descriptor open_host_file(const std::string& path) {
    const Descriptor root = is_watched_from_outside() ? host_root() : Descriptor();
    if (root)
        if (Descriptor file = FoundFile(path, {.root = root.get()}).open()) return file;
    return open_regular_file(path);
}

}  // namespace flameprobe

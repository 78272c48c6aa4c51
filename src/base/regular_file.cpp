#include "base/regular_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/host_process.hpp"

namespace flameprobe {

FoundFile::FoundFile(std::string path, LookUp how) : path_(std::move(path)), how_(how), place_(look_up(O_PATH)) {
    if (place_ && ::fstat(place_.get(), &status_) != 0) place_.reset();
}

// Links below the root of another process are followed within that root. Linux before 5.6 has no openat2(2): there
// nothing is found below another root.
Descriptor FoundFile::look_up(int flags) const {
    flags |= O_CLOEXEC | (how_.links ? 0 : O_NOFOLLOW);
    if (how_.root < 0) return Descriptor(::open(path_.c_str(), flags));
    open_how within{};
    within.flags = static_cast<std::uint64_t>(flags);
    within.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Descriptor(static_cast<int>(::syscall(SYS_openat2, how_.root, path_.c_str(), &within, sizeof within)));
}

// By the kernel's link to what was looked at: under the path there may be another file by now. The calling thread may
// have descriptors of its own.
Descriptor FoundFile::open() const {
    constexpr int how = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (!place_) return {};
    if (!is_regular()) {
        errno = EINVAL;
        return {};
    }
    const std::string link = "/proc/thread-self/fd/" + std::to_string(place_.get());
    Descriptor file(::open(link.c_str(), how));
    if (!file && errno == ENOENT) file = look_up(how);  // no /proc here
    struct stat opened {};
    if (!file || ::fstat(file.get(), &opened) != 0) return {};
    if (opened.st_dev == status_.st_dev && opened.st_ino == status_.st_ino) return file;
    errno = ESTALE;
    return {};
}

Descriptor open_regular_file(const std::string& path) { return FoundFile(path).open(); }

Descriptor host_root() {
    return Descriptor(::open((host_proc_directory() + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// Not below its root only: what a process in chroot(2) maps, /proc/PID/maps tells by our root, the kernel's records by
// the process's own.
Descriptor open_host_file(const std::string& path) {
    const Descriptor root = is_watched_from_outside() ? host_root() : Descriptor();
    if (root)
        if (Descriptor file = FoundFile(path, {.root = root.get()}).open()) return file;
    return open_regular_file(path);
}

}  // namespace flameprobe

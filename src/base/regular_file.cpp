#include "base/regular_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host_process.hpp"

namespace flameprobe {

namespace {

constexpr int how = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

Descriptor if_regular(Descriptor file) {
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return file;
}

// Its links lead to its own files, whoever made them. Linux before 5.6 cannot tell.
Descriptor open_in(const std::string& root, const std::string& path) {
    const Descriptor directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how within{};
    within.flags = how;
    within.resolve = RESOLVE_IN_ROOT;
    if (!directory) return {};
    return Descriptor(static_cast<int>(::syscall(SYS_openat2, directory.get(), path.c_str(), &within, sizeof within)));
}

}  // namespace

Descriptor open_regular_file(const std::string& path) { return if_regular(Descriptor(::open(path.c_str(), how))); }

// Not below its root only: what a process in chroot(2) maps, /proc/PID/maps tells by our root, the kernel's records by
// the process's own.
Descriptor open_host_file(const std::string& path) {
    if (is_watched_from_outside())
        if (Descriptor file = if_regular(open_in(host_proc_directory() + "/root", path))) return file;
    return open_regular_file(path);
}

}  // namespace flameprobe

#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/host_process.hpp"

namespace flameprobe {

Descriptor open_regular_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return file;
}

// Not below its root only: what a process in chroot(2) maps, /proc/PID/maps tells by our root, the kernel's records by
// the process's own.
Descriptor open_host_file(const std::string& path) {
    if (is_watched_from_outside())
        if (Descriptor file = open_regular_file(host_proc_directory() + "/root" + path)) return file;
    return open_regular_file(path);
}

}  // namespace flameprobe

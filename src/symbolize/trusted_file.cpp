#include "symbolize/trusted_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flameprobe {

Descriptor open_trusted(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
    struct stat status {};
    const bool trusted = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         (status.st_uid == ::geteuid() || status.st_uid == 0);
    return trusted ? std::move(file) : Descriptor();
}

}  // namespace flameprobe

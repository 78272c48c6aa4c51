// What tells a file from another one that later lies at the same path.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "base/clock.hpp"

namespace flameprobe {

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

}  // namespace flameprobe

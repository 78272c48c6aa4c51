// The lock of who writes a file, which nobody can hold or forge who may only read it. flock(2) is for every reader.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "base/descriptor.hpp"

namespace flameprobe {

/// Takes the lock until `file`, which is open for writing, is closed (fcntl(2), F_OFD_SETLK: the kernel asks for a file
/// that is open so). False if another process holds it. A file system without locks has none to hold. Does not wait.
inline bool lock_to_write(const Descriptor& file) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    return ::fcntl(file.get(), F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

/// Whether a process holds it, by another open file than this one. Locks of readers do not count.
inline bool is_locked_by_writer(const Descriptor& file) {
    struct flock whole {};
    whole.l_type = F_RDLCK;
    return ::fcntl(file.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type == F_WRLCK;
}

}  // namespace flameprobe

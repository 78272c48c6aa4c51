#include "profile/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/signals.hpp"

namespace flameprobe {

namespace {

/// 0 or an errno. Plain write(2), the one call that every filter of a sandboxed host still permits.
int write_all(int file, std::string_view piece) {
    for (int interrupted = 0; !piece.empty();) {
        const ssize_t done = write(file, piece.data(), piece.size());
        // All signals are blocked here: a file system that goes on saying so (NFS with `intr`) must not hang the host.
        if (done < 0 && errno == EINTR && ++interrupted < 100) continue;
        if (done < 0) return errno;
        if (done == 0) return ENOSPC;
        // A short write is the first sign of a full disk: the next one gives the error.
        piece.remove_prefix(static_cast<std::size_t>(done));
    }
    return 0;
}

}  // namespace

Result<void> AppendFile::append(std::string_view piece) {
    const HeldSignals quiet;
    // Should cutting back fail too, the next attempt overwrites the torn piece.
    if (!in_place_ && lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET) < 0)
        return Error{std::string("cannot write the profile: ") + strerrordesc_np(errno)};
    in_place_ = false;
    if (const int error = write_all(file_.get(), piece); error != 0) {
        [[maybe_unused]] const int cut = ftruncate(file_.get(), static_cast<off_t>(size_));
        return Error{std::string("cannot write the profile: ") + strerrordesc_np(error)};
    }
    in_place_ = true;
    size_ += piece.size();
    return {};
}

bool AppendFile::go_on_in(Descriptor file) {
    struct stat status {};
    if (fstat(file.get(), &status) != 0) return false;
    file_ = std::move(file);
    size_ = static_cast<std::uint64_t>(status.st_size);
    in_place_ = false;
    return true;
}

}  // namespace flameprobe

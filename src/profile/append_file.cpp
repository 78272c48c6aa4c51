#include "profile/append_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace flameprobe {

namespace {

/// Beyond RLIMIT_FSIZE write(2) sends SIGXFSZ to the calling thread, and its default action would kill the host. While
/// one of these lives SIGXFSZ is blocked; a signal that we caused is consumed, one that was pending before stays.
class NoFileSizeSignal {
public:
    NoFileSizeSignal() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
        sigset_t pending;
        was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    }
    ~NoFileSizeSignal() {
        const int saved = errno;
        const timespec at_once{};
        if (!was_pending_) {
            while (sigtimedwait(&set_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = saved;
    }
    NoFileSizeSignal(const NoFileSizeSignal&) = delete;
    NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

private:
    sigset_t set_;
    sigset_t before_;
    bool was_pending_ = false;
};

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
    const NoFileSizeSignal quiet;
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

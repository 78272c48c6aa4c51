#include "session/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flameprobe {

thread_local bool Log::held_ = false;

Log::Log(LogMode mode, std::string path) : mode_(mode), path_(std::move(path)) {
    struct stat status {};
    if (::fstat(STDERR_FILENO, &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    terminal_ = ::isatty(STDERR_FILENO) == 1;
}

void Log::write(std::string_view text, bool important) {
    if (mode_ == LogMode::quiet) return;
    if (mode_ == LogMode::automatic && !important && !terminal_) return;
    std::string line = "flameprobe: " + std::string(text) + "\n";
    if (held_ && mode_ != LogMode::file) {
        const std::scoped_lock lock(mutex_);
        if (waiting_.size() < (64u << 10)) waiting_ += line;
        return;
    }
    emit(line);
}

Descriptor Log::terminal() const {
    if (!terminal_ || mode_ == LogMode::quiet || mode_ == LogMode::file) return {};
    // By the process's main thread, whose descriptors are the host's.
    Descriptor terminal(::open("/proc/self/fd/2", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat status {};
    if (!terminal || ::fstat(terminal.get(), &status) != 0) return {};
    if (status.st_dev != device_ || status.st_ino != inode_) return {};
    return terminal;
}

void Log::release() {
    std::string lines;
    {
        const std::scoped_lock lock(mutex_);
        lines.swap(waiting_);
    }
    if (!lines.empty()) emit(lines);
}

void Log::emit(const std::string& line) const {
    if (mode_ == LogMode::file) {
        const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
        if (file && ::write(file.get(), line.data(), line.size()) >= 0) return;
    }
    if (!stderr_is_ours_to_use()) return;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool Log::stderr_is_ours_to_use() const {
    struct stat status {};
    return inode_ != 0 && ::fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace flameprobe

#include "export/output_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <system_error>
#include <utility>

namespace flameprobe {

namespace {

constexpr std::size_t buffer_size = 256 * 1024;

sigset_t write_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigaddset(&set, SIGPIPE);
    return set;
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Thread-safe, unlike strerror.
std::string describe(int error) { return std::generic_category().message(error); }

bool is_in_place(const std::string& path) {
    struct stat status {};
    if (path.starts_with("/dev/") || path.starts_with("/proc/")) return true;
    return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// A link to an older result stays a link: what it points to is replaced.
std::string follow_links(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
    const std::unique_ptr<char, decltype(&::free)> resolved(::realpath(path.c_str(), nullptr), &::free);
    return resolved ? std::string(resolved.get()) : path;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    const sigset_t signals = write_signals();
    ::pthread_sigmask(SIG_BLOCK, &signals, &old_signals_);
    if (path_ == "-") {
        fd_ = STDOUT_FILENO;
    } else if (is_in_place(path_)) {
        open_in_place();
    } else {
        target_ = follow_links(path_);
        open_temporary();
    }
}

OutputFile::~OutputFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    // What our own writes raised is pending now and must not outlive the mask; what was blocked before stays.
    const timespec now{};
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
        if (sigismember(&old_signals_, signal) != 0) continue;
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, signal);
        while (::sigtimedwait(&one, nullptr, &now) < 0 && errno == EINTR) {
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &old_signals_, nullptr);
}

void OutputFile::open_in_place() {
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    fd_ = file_.get();
    if (!file_) fail("open", errno);
}

void OutputFile::open_temporary() {
    struct stat status {};
    const bool is_there = ::stat(target_.c_str(), &status) == 0;
    if (is_there && S_ISDIR(status.st_mode)) return fail("write", EISDIR);
    // A short name, whatever the target's: that one may be as long as the file system allows.
    const std::string stem = directory_of(target_) + "/.flameprobe." + std::to_string(::getpid()) + ".";
    constexpr int tries = 1000;  // another thread of ours, or what a killed process with our pid left behind
    for (int i = 0; i < tries; ++i) {
        std::string name = stem + std::to_string(i) + ".tmp";
        file_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (file_) {
            fd_ = file_.get();
            temporary_ = std::move(name);
            if (is_there) (void)::fchmod(fd_, status.st_mode & 0777);  // best effort: the file may be another user's
            return;
        }
        if (errno != EEXIST) break;
    }
    fail("create a file in its directory", errno);
}

void OutputFile::write(std::string_view text) {
    if (failed()) return;
    buffer_ += text;
    if (buffer_.size() >= buffer_size) flush();
}

void OutputFile::flush() {
    std::string_view rest = buffer_;
    while (!rest.empty() && !failed()) {
        const ssize_t written = ::write(fd_, rest.data(), rest.size());
        if (written > 0)
            rest.remove_prefix(static_cast<std::size_t>(written));
        else if (written == 0 || errno != EINTR)
            fail("write", written == 0 ? ENOSPC : errno);
    }
    buffer_.clear();
}

Result<void> OutputFile::commit() {
    flush();
    // Network file systems report a full disk no earlier than here.
    if (file_ && ::close(file_.release()) != 0 && errno != EINTR) fail("write", errno);
    if (!failed() && !temporary_.empty()) {
        if (::rename(temporary_.c_str(), target_.c_str()) == 0)
            temporary_.clear();
        else
            fail("rename the finished file to its name", errno);
    }
    if (failed()) return Error{failure_};
    return {};
}

void OutputFile::fail(const char* doing, int error) {
    if (failed()) return;
    failure_ = (path_ == "-" ? "standard output" : path_) + ": cannot " + doing + ": " + describe(error);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) failure_ += "; make room or choose another place";
    if (error == EACCES || error == EROFS || error == ENOENT) failure_ += "; choose another place";
    if (!target_.empty() && ::access(target_.c_str(), F_OK) == 0 && error != EISDIR)
        failure_ += " (the earlier file is as it was)";
}

}  // namespace flameprobe

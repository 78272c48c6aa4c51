#include "session/log.hpp"

#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/deadline.hpp"
#include "base/output_directory.hpp"
#include "base/printed.hpp"
#include "base/result.hpp"
#include "base/signals.hpp"

namespace flameprobe {

namespace {

/// A pipe may be full, or a terminal stopped: the host, which writes nothing, would not wait for their readers. poll(2)
/// refuses more descriptors than the host may open, be it one.
bool has_room(int descriptor, std::uint64_t patience_ns) {
    const Deadline deadline(patience_ns);
    for (int polled = -1;;) {
        const timespec left = timespec_of(deadline.left_ns());
        pollfd ready{descriptor, POLLOUT, 0};
        polled = ::ppoll(&ready, 1, &left, nullptr);
        if (polled < 0 && errno == EINVAL && descriptor < FD_SETSIZE) {
            fd_set only;
            FD_ZERO(&only);
            FD_SET(descriptor, &only);
            polled = ::pselect(descriptor + 1, nullptr, &only, nullptr, &left, nullptr);
            if (polled == 1) return true;
        }
        if (polled >= 0 || errno != EINTR || deadline.over()) return polled == 1 && (ready.revents & POLLOUT) != 0;
    }
}

}  // namespace

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
    const std::string line = "flameprobe: " + clean_text(text) + "\n";
    if (mode_ == LogMode::file) {
        const std::string problem = append_to_file(line);
        if (problem.empty()) return;
        if (is_new(problem)) show("flameprobe: " + problem + "\n");
    }
    if (important || terminal_ || mode_ == LogMode::standard_error) show(line);
}

void Log::warn_once(const std::string& text) {
    if (is_new(text)) warning(text);
}

bool Log::is_new(const std::string& text) {
    constexpr std::size_t most = 1000;  // of one that names threads or places there may be any number
    const std::scoped_lock lock(mutex_);
    return told_.size() < most && told_.insert(text).second;
}

void Log::show(const std::string& line) {
    if (!held_) return emit(line, STDERR_FILENO);
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() < (64u << 10)) waiting_ += line;
}

std::string Log::append_to_file(const std::string& line) const {
    const HeldSignals quiet;
    const auto file = open_for_append(path_);
    if (file && ::write(file->get(), line.data(), line.size()) >= 0) return {};
    return "FLAMEPROBE_LOG=" + path_ + ": not written: " + (file ? error_text(errno) : file.error().message) +
           "; messages go to stderr";
}

std::string Log::take_waiting() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(waiting_, {});
}

void Log::release() {
    if (const std::string lines = take_waiting(); !lines.empty()) emit(lines, STDERR_FILENO);
}

void Log::release_to(const Descriptor& host_stderr) {
    if (!has_room(host_stderr.get(), 0)) return;
    if (const std::string lines = take_waiting(); !lines.empty()) emit(lines, host_stderr.get());
}

void Log::emit(const std::string& line, int to) const {
    if (!is_the_same_stderr(to) || !has_room(to, ns_per_second)) return;
    const HeldSignals quiet;
    [[maybe_unused]] const ssize_t written = ::write(to, line.data(), line.size());
}

bool Log::is_the_same_stderr(int descriptor) const {
    struct stat status {};
    return inode_ != 0 && ::fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

}  // namespace flameprobe

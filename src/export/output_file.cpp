#include "export/output_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/work_steps.hpp"

namespace flameprobe {

namespace {

constexpr std::size_t buffer_size = 256 * 1024;
constexpr mode_t result_mode = 0664;

/// The file's name until it is whole: short, since the result's own name may be as long as the file system allows, and
/// random, so that no other user can make a file of that name first.
std::string temporary_name() { return ".flameprobe." + chance_name() + ".tmp"; }

/// 0, or an errno. Network file systems report a full disk no earlier than at a close, be it a copy's.
int close_error(const Descriptor& file) {
    const int copy = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
    return copy < 0 || ::close(copy) == 0 || errno == EINTR ? 0 : errno;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), name_(last_name(path_)) {
    if (path_ == "-") {
        fd_ = STDOUT_FILENO;
        return;
    }
    auto directory = OutputDirectory::of(path_);
    if (!directory) {
        fail(path_ + ": cannot create a file in its directory: " + directory.error().message +
             "; choose another place");
        return;
    }
    directory_.emplace(std::move(*directory));
    is_in_place() ? open_in_place() : open_temporary();
}

OutputFile::~OutputFile() {
    if (!temporary_.empty()) directory_->remove(temporary_);
}

// Files in /dev/shm are replaced like others: every user may put a link there.
bool OutputFile::is_in_place() const {
    return (path_.starts_with("/dev/") || path_.starts_with("/proc/")) && directory_->is_private();
}

void OutputFile::open_in_place() {
    file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    fd_ = file_.get();
    if (!file_) fail("open", errno);
}

void OutputFile::open_temporary() {
    if (const std::string obstacle = directory_->obstacle(name_); !obstacle.empty())
        return fail(path_ + ": not written: it " + obstacle + remedy_for_obstacle);
    file_ = directory_->create_unnamed(result_mode);
    unnamed_ = bool(file_);
    std::string name = unnamed_ ? std::string() : temporary_name();
    if (!unnamed_) file_ = directory_->create(name, result_mode);
    if (!file_) return fail("create a file in its directory", errno);
    fd_ = file_.get();
    temporary_ = std::move(name);
    keep_rights();
}

// If the user made the older file private, the new one is private too.
void OutputFile::keep_rights() {
    struct stat older {
    }, made{};
    if (!directory_->status(name_, older) || ::fstat(fd_, &made) != 0) return;
    const mode_t both = older.st_mode & made.st_mode & 0777;
    if (both != (made.st_mode & 0777)) (void)::fchmod(fd_, both);
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
    work_step_done();
}

Result<void> OutputFile::commit() {
    flush();
    if (const int error = file_ ? close_error(file_) : 0; error != 0) fail("write", error);
    if (!failed() && (unnamed_ || !temporary_.empty())) put_in_place();
    file_.reset();
    if (failed()) return Error{failure_};
    return {};
}

// A file is replaced by one that has a name already, so an unnamed one has it for these two calls.
void OutputFile::put_in_place() {
    if (const std::string obstacle = directory_->obstacle(name_); !obstacle.empty())
        return fail(path_ + ": not written: it " + obstacle + remedy_for_obstacle);
    int error = unnamed_ ? directory_->link(fd_, name_) : EEXIST;
    if (error == 0) return;
    if (unnamed_ && error == EEXIST) {
        std::string name = temporary_name();
        error = directory_->link(fd_, name);
        if (error == 0) temporary_ = std::move(name);
    }
    if (!temporary_.empty()) error = directory_->rename(temporary_, name_);
    if (error != 0) return fail("give the finished file its name", error);
    temporary_.clear();
}

Result<void> write_file(const std::string& path, std::string_view text) {
    OutputFile file(path);
    file.write(text);
    return file.commit();
}

void OutputFile::fail(const std::string& why) {
    if (!failed()) failure_ = why;
}

void OutputFile::fail(const char* doing, int error) {
    if (failed()) return;
    failure_ = (path_ == "-" ? "standard output" : path_) + ": cannot " + doing + ": " + error_text(error);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) failure_ += "; make room or choose another place";
    if (error == EACCES || error == EROFS || error == ENOENT) failure_ += "; choose another place";
    struct stat status {};
    if (directory_ && !is_in_place() && directory_->status(name_, status))
        failure_ += " (the earlier file is as it was)";
}

}  // namespace flameprobe

#include "collect/profile_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include "base/write_lock.hpp"

namespace flameprobe {

namespace {

constexpr mode_t profile_mode = 0644;

}  // namespace

bool is_later(const timespec& a, const timespec& b) {
    return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

/// Opens the directory that the file is to be in.
Result<void> ProfileFile::enter() {
    if (place_) {
        auto placed = place_();
        if (!placed) return placed.error();
        stem_ = std::move(placed->stem);
        directory_.emplace(std::move(placed->directory));
    } else {
        auto directory = OutputDirectory::of(own_path());
        if (!directory)
            return Error{own_path() + " cannot be created: " + directory.error().message + remedy_for_failure(errno)};
        directory_.emplace(std::move(*directory));
    }
    ::fstat(directory_->descriptor(), &within_);
    return {};
}

// A folder that is empty may be removed by another process of the run at any moment, and is made again.
Result<void> ProfileFile::create() {
    if (created_) return {};
    constexpr int tries = 10;
    for (int i = 1;; ++i) {
        auto done = enter();
        const bool entered = static_cast<bool>(done);
        if (done) done = name_file(std::string(stem_));
        if (!done) directory_.reset();
        if (!entered || done || !place_ || errno != ENOENT || i == tries) return done;
    }
}

/// Creates the file; on failure errno says why.
Result<void> ProfileFile::name_file(const std::string& wanted) {
    constexpr unsigned most_numbers = 100000;
    for (unsigned number = 1; number < most_numbers; ++number) {
        stem_ = numbered(wanted, number);
        if (Descriptor file = take_name(*directory_)) {
            if (!avoided_.empty()) avoided_ += ": the results are " + stem_ + ".*";
            adopt(file);
            writer_.attach(std::move(file));
            created_ = true;
            return {};
        }
        if (errno != EEXIST) break;
        if (number > 1) continue;
        if (const auto obstacle = directory_->obstacle(last_name(own_path())); !obstacle.empty())
            avoided_ = own_path() + " " + obstacle;
    }
    const int error = errno;
    stem_ = wanted;
    Error failure{own_path() + " cannot be created: " + error_text(error) + remedy_for_failure(error)};
    errno = error;
    return failure;
}

// In the run's folder nobody else can open it before its lock is taken. What the umask leaves is seen by the folder.
Descriptor ProfileFile::make(const OutputDirectory& directory, const std::string& name) const {
    Descriptor file = directory.create(name, place_ ? 0600 : profile_mode);
    if (!file) return file;
    (void)lock_to_write(file);
    if (place_) (void)::fchmod(file.get(), profile_mode & within_.st_mode);
    return file;
}

/// The file for the results, or nothing and an errno: EEXIST if the name is taken.
Descriptor ProfileFile::take_name(const OutputDirectory& directory) {
    const std::string name = last_name(own_path());
    Descriptor file = make(directory, name);
    if (file || errno != EEXIST) return file;
    if (older_gives_way(directory, name)) return create_unpublished(directory);
    errno = EEXIST;
    return {};
}

// The lock is held until the newer one has the name: of two processes that would replace one file only the first does.
bool ProfileFile::older_gives_way(const OutputDirectory& directory, const std::string& name) {
    if (!directory.obstacle(name).empty()) return false;
    Descriptor older = directory.open(name, O_RDWR);
    struct stat opened {
    }, named{};
    if (!older || ::fstat(older.get(), &opened) != 0 || !rules_.give_way(opened)) return false;
    if (!lock_to_write(older) && is_locked_by_writer(older)) return false;
    if (!directory.status(name, named) || !same_file(opened, named)) return false;  // replaced by another meanwhile
    older_ = std::move(older);
    published_ = opened;
    return true;
}

/// A file whose name begins like the results', so that users find it if it keeps that name, and that nobody can take
/// before.
Descriptor ProfileFile::create_unpublished(const OutputDirectory& directory) {
    std::string path = own_path() + ".new." + chance_name();
    Descriptor file = make(directory, last_name(path));
    if (file) unpublished_ = std::move(path);
    return file;
}

void ProfileFile::adopt(const Descriptor& file) {
    (void)lock_to_write(file);
    ::fstat(file.get(), &ours_);
}

bool ProfileFile::is_ours(const OutputDirectory& directory, const std::string& name) const {
    struct stat named {};
    return directory.status(name, named) && same_file(named, ours_);
}

// A new file takes the older one's name in one step, once it holds something; a process that reads the older one keeps
// it. Where that is refused (privileges were dropped meanwhile) the profile goes on under its temporary name rather
// than nowhere.
void ProfileFile::publish() {
    if (unpublished_.empty()) return;
    const std::string name = last_name(own_path());
    struct stat named {};
    if (directory_->status(name, named) && !same_file(named, published_)) return;
    if (!directory_->obstacle(name).empty() || directory_->rename(last_name(unpublished_), name) != 0) return;
    unpublished_.clear();
    older_.reset();
    published_ = ours_;
}

Result<void> ProfileFile::flush() {
    if (auto flushed = writer_.flush(); !flushed) {
        if (writer_.bytes_written() == 0) remove();  // an empty file has no use
        return flushed;
    }
    publish();
    return {};
}

void ProfileFile::close() {
    if (!created_) return;
    writer_.attach(Descriptor{});
    taken_away_ = directory_ && !is_ours(*directory_, last_name(path()));
    directory_.reset();
    older_.reset();
    closed_ = true;
}

Result<void> ProfileFile::reopen() {
    if (!closed_) return {};
    const auto failure = [&](const std::string& why) {
        return Error{path() + " cannot be opened again, so the profile ends here: " + why};
    };
    auto directory = OutputDirectory::of(path());
    if (!directory) return failure(directory.error().message);
    struct stat status {};
    if (::fstat(directory->descriptor(), &status) != 0) return failure(error_text(errno));
    if (!same_file(status, within_)) return failure("its directory is another now");
    Descriptor file = directory->open(last_name(path()), O_RDWR);
    if (!file || ::fstat(file.get(), &status) != 0) return failure(error_text(errno));
    if (!same_file(status, ours_) || static_cast<std::uint64_t>(status.st_size) != writer_.bytes_written())
        return failure("it is another file now");
    directory_.emplace(std::move(*directory));
    adopt(file);
    writer_.attach(std::move(file));
    closed_ = false;
    return {};
}

// Beside the old file, which stays until the new one is whole. What is left is stacks, threads and sums: if they take
// half of the size, the next attempt would come soon and gain less.
bool ProfileFile::compact(const Compaction& by) {
    const std::string before = std::exchange(unpublished_, {});
    Descriptor file = create_unpublished(*directory_);
    const std::string smaller = std::exchange(unpublished_, before);
    if (!file) return false;
    const struct stat old = ours_;
    adopt(file);
    if (!by(path(), file) || !writer_.go_on_in(std::move(file))) {
        directory_->remove(last_name(smaller));
        ours_ = old;
        return false;
    }
    unpublished_ = smaller;
    if (before.empty())
        published_ = old;
    else
        directory_->remove(last_name(before));
    publish();
    full_at_ = most_bytes_;
    return writer_.bytes_written() <= most_bytes_ / 2;
}

Result<void> ProfileFile::move_to(std::string stem) {
    const std::string target = stem + ".fprobe";
    const auto failure = [&](const std::string& why) {
        return Error{path() + " cannot be renamed to make room for the next part of the profile: " + why};
    };
    if (const auto obstacle = directory_->obstacle(last_name(target)); !obstacle.empty())
        return failure(target + " " + obstacle);
    if (const int error = directory_->rename(last_name(path()), last_name(target)); error != 0)
        return failure(error_text(error));
    stem_ = std::move(stem);
    unpublished_.clear();
    return {};
}

void ProfileFile::grow() { full_at_ = writer_.bytes_written() + most_bytes_; }

void ProfileFile::remove() {
    const std::string name = last_name(path());
    if (closed_)
        if (auto directory = OutputDirectory::of(path())) directory_.emplace(std::move(*directory));
    if (created_ && directory_ && is_ours(*directory_, name)) directory_->remove(name);
    directory_.reset();
    unpublished_.clear();
    older_.reset();
    created_ = false;
}

Result<void> Rotation::put_away(std::string path, std::uint64_t samples) {
    earlier_.push_back({std::move(path), samples});
    ++number_;
    if (earlier_.size() <= most_earlier) return {};
    const Part oldest = std::move(earlier_.front());
    earlier_.pop_front();
    const auto directory = OutputDirectory::of(oldest.path);
    if (directory && ::unlinkat(directory->descriptor(), last_name(oldest.path).c_str(), 0) == 0)
        given_up_ += oldest.samples;
    else if (directory && errno != ENOENT)  // else the user has moved it elsewhere
        return Error{oldest.path +
                     " cannot be removed to make room for the next part of the profile: " + error_text(errno)};
    return {};
}

std::string Rotation::describe(const std::string& last) const {
    std::string text = "the profile has outgrown " + std::to_string(file_bytes() >> 10) + " KiB and is in " +
                       std::to_string(earlier_.size() + (last.empty() ? 0 : 1)) +
                       " parts, of which the results show the last; all: " + "flameprobe-render";
    for (const auto& part : earlier_) text += " " + part.path;
    if (!last.empty()) text += " " + last + ".fprobe";
    if (given_up_ != 0) {
        text +=
            "; the oldest parts, with " + std::to_string(given_up_) + " samples, were given up for FLAMEPROBE_MAX_SIZE";
    }
    return text;
}

}  // namespace flameprobe

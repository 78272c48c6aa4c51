#include "base/output_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/host_process.hpp"
#include "base/paths.hpp"
#include "base/proc.hpp"

namespace flameprobe {

namespace {

constexpr int most_links = 40;  // as the kernel (path_resolution(7))
constexpr mode_t others_write = S_IWGRP | S_IWOTH;

/// In a user namespace the files of the root user outside of it look like those of user 65534 (user_namespaces(7)).
bool is_outside_root(uid_t owner) {
    if (owner != 65534) return false;
    const auto map = read_small_file("/proc/self/uid_map");
    unsigned long inside = 0, outside = 0, count = 0;
    const bool whole = !map || ::sscanf(map->c_str(), "%lu %lu %lu", &inside, &outside, &count) != 3 ||
                       (inside == 0 && outside == 0 && count == 4294967295);
    return !whole;
}

/// Takes the first name off a path; empty at its end.
std::string take_name(std::string& path) {
    const std::size_t begin = path.find_first_not_of('/');
    if (begin == path.npos) return path.clear(), std::string();
    const std::size_t end = path.find('/', begin);
    std::string name = path.substr(begin, end - begin);
    path.erase(0, end);
    return name;
}

/// The target of a link that is open as O_PATH.
Result<std::string> target_of(const Descriptor& link) {
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(link.get(), "", target, sizeof target);
    if (length <= 0) return Error{error_text(length == 0 ? ENOENT : errno)};
    return std::string(target, static_cast<std::size_t>(length));
}

Descriptor open_path(int from, const char* name) {
    return Descriptor(::openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

bool is_trusted_owner(uid_t owner) { return owner == 0 || owner == ::geteuid() || is_outside_root(owner); }

Result<OutputDirectory> OutputDirectory::of(std::string_view path) {
    std::string rest(directory_of(path));
    Descriptor here = open_path(AT_FDCWD, rest.starts_with('/') ? "/" : ".");
    for (int links = 0; here;) {
        const std::string name = take_name(rest);
        if (name.empty()) return OutputDirectory(std::move(here));
        Descriptor next = open_path(here.get(), name.c_str());
        struct stat status {};
        if (!next && errno == ENOENT) return Error{"its directory '" + name + "' does not exist: mkdir -p makes it"};
        if (!next || ::fstat(next.get(), &status) != 0) break;
        if (S_ISDIR(status.st_mode)) {
            here = std::move(next);
        } else if (!S_ISLNK(status.st_mode)) {
            return Error{error_text(ENOTDIR)};
        } else if (!is_trusted_owner(status.st_uid)) {
            return Error{"'" + name + "' in its path is a symbolic link of another user, which is not followed"};
        } else if (++links > most_links) {
            return Error{error_text(ELOOP)};
        } else {
            auto target = target_of(next);
            if (!target) return target.error();
            rest = *target + "/" + rest;
            if (target->starts_with('/')) here = open_path(AT_FDCWD, "/");
        }
    }
    return Error{error_text(errno)};
}

std::string OutputDirectory::obstacle(const std::string& name) const {
    struct stat found {};
    if (!status(name, found)) return {};
    if (S_ISLNK(found.st_mode)) return "is a symbolic link" + whose(found) + ", which is not followed";
    if (S_ISDIR(found.st_mode)) return "is a directory" + whose(found);
    if (!S_ISREG(found.st_mode)) return "is no regular file" + (whose(found).empty() ? "" : " but one" + whose(found));
    if (found.st_uid != ::geteuid()) return "belongs to user " + std::to_string(found.st_uid);
    if ((found.st_mode & S_IWOTH) != 0) return "may be written by every user";
    return {};
}

bool OutputDirectory::status(const std::string& name, struct stat& status) const {
    return ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Descriptor OutputDirectory::create(const std::string& name, mode_t mode) const {
    return Descriptor(
        ::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

namespace {

std::string link_to(int file) { return "/proc/self/fd/" + std::to_string(file); }

}  // namespace

Descriptor OutputDirectory::create_unnamed(mode_t mode) const {
    Descriptor file(::openat(directory_.get(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode));
    if (file && ::access(link_to(file.get()).c_str(), F_OK) != 0) file.reset();
    return file;
}

int OutputDirectory::link(int file, const std::string& name) const {
    const int failed = ::linkat(AT_FDCWD, link_to(file).c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW);
    return failed == 0 ? 0 : errno;
}

Descriptor OutputDirectory::made_for_trial() const {
    if (Descriptor file = create_unnamed(0600)) return file;
    const std::string name = ".flameprobe." + chance_name();
    Descriptor file = create(name, 0600);
    const int why = errno;
    if (file) remove(name);
    errno = why;
    return file;
}

Descriptor OutputDirectory::open(const std::string& name, int flags) const {
    return Descriptor(::openat(directory_.get(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

int OutputDirectory::rename(const std::string& from, const std::string& to) const {
    return ::renameat(directory_.get(), from.c_str(), directory_.get(), to.c_str()) == 0 ? 0 : errno;
}

// Network file systems (NFS, 9p, most of FUSE) cannot do that at once (EINVAL); a folder that is not empty no rename
// replaces there either.
bool OutputDirectory::rename_to_unused(const std::string& from, const OutputDirectory& to,
                                       const std::string& name) const {
    if (::renameat2(descriptor(), from.c_str(), to.descriptor(), name.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL) return false;
    struct stat found {};
    if (!to.status(name, found)) return ::renameat(descriptor(), from.c_str(), to.descriptor(), name.c_str()) == 0;
    errno = EEXIST;
    return false;
}

Result<OutputDirectory> OutputDirectory::directory_in(const std::string& name) const {
    Descriptor inside(::openat(directory_.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside) return Error{error_text(errno)};
    return OutputDirectory(std::move(inside));
}

void OutputDirectory::remove(const std::string& name) const { ::unlinkat(directory_.get(), name.c_str(), 0); }

int OutputDirectory::failure_to_write() const {
    const Descriptor file = made_for_trial();
    return file && ::write(file.get(), "\n", 1) == 1 ? 0 : errno;
}

uid_t OutputDirectory::owner_of_new() const {
    const Descriptor file = made_for_trial();
    struct stat made {};
    return file && ::fstat(file.get(), &made) == 0 ? made.st_uid : ::geteuid();
}

bool OutputDirectory::is_private() const {
    struct stat found {};
    return ::fstat(directory_.get(), &found) == 0 && (found.st_mode & others_write) == 0;
}

// What looks at a process from outside is a command; the library in a program is told by variables.
std::string remedy_for_failure(int error) {
    if (error == EMFILE || error == ENFILE) return "; raise the limit of open files (ulimit -n)";
    if (error == ENAMETOOLONG) return "; choose a shorter name";
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    return std::string(full ? "; make room, or " : "; ") +
           (is_watched_from_outside() ? "choose with -o" : "set FLAMEPROBE_OUT to") +
           (full ? " another place" : " a path in a directory that can be written");
}

std::string numbered(const std::string& stem, unsigned number) {
    return number == 1 ? stem : stem + "." + std::to_string(number);
}

std::string chance_name() {
    std::uint64_t chance = 0;
    if (::getrandom(&chance, sizeof chance, GRND_NONBLOCK) != sizeof chance)
        chance = splitmix64(monotonic_ns() ^ reinterpret_cast<std::uintptr_t>(&chance));
    char digits[13];
    ::snprintf(digits, sizeof digits, "%012llx", static_cast<unsigned long long>(chance >> 16));
    return digits;
}

std::string last_name(std::string_view path) { return std::string(base_name(path)); }

std::string whose(const struct stat& file) {
    return file.st_uid == ::geteuid() ? std::string() : " of user " + std::to_string(file.st_uid);
}

bool same_file(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Result<Descriptor> OutputDirectory::open_for_append(const std::string& name) const {
    if (Descriptor made = create(name, 0644)) {
        ::fcntl(made.get(), F_SETFL, O_APPEND);
        return made;
    }
    if (errno != EEXIST) return Error{error_text(errno)};
    if (const std::string in_the_way = obstacle(name); !in_the_way.empty()) return Error{"it " + in_the_way};
    // The name may lead to another file by now: the checks below are of the one that is open.
    Descriptor file = open(name, O_WRONLY | O_APPEND);
    struct stat opened {};
    if (!file || ::fstat(file.get(), &opened) != 0) return Error{error_text(errno)};
    const bool ours = S_ISREG(opened.st_mode) && opened.st_uid == ::geteuid();
    if (!ours || (opened.st_mode & others_write) != 0) return Error{"other users may write it"};
    if (opened.st_nlink != 1) return Error{"it has another name too (a hard link)"};
    return file;
}

Result<Descriptor> open_for_append(const std::string& path) {
    for (const char* device : {"/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr"}) {
        if (path != device) continue;
        Descriptor opened(::open(device, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
        if (!opened) return Error{error_text(errno)};
        return opened;
    }
    const auto directory = OutputDirectory::of(path);
    if (!directory) return directory.error();
    return directory->open_for_append(last_name(path));
}

}  // namespace flameprobe

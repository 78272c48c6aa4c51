#include "outside/own_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/proc.hpp"
#include "base/result.hpp"

namespace flameprobe {

namespace {

constexpr mode_t directory_mode = 0755;

/// Whether a user besides the owner may write it. A group of the owner's own, which has the owner's number, has no
/// other member; with an access list its bit stands for the list.
bool others_may_write(int directory, const struct stat& status) {
    if ((status.st_mode & S_IWOTH) != 0) return true;
    if ((status.st_mode & S_IWGRP) == 0) return false;
    const std::string path = "/proc/self/fd/" + std::to_string(directory);  // as it is open with O_PATH
    return status.st_gid != status.st_uid || ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

/// What is wrong with it; empty: nothing.
std::string fault_of(int directory) {
    struct stat status {};
    if (::fstat(directory, &status) != 0) return error_text(errno);
    if (status.st_uid != ::geteuid()) return "belongs to another user, who could have put links there";
    if (others_may_write(directory, status)) return "may be written by other users, who could have put links there";
    return {};
}

}  // namespace

Result<OwnDirectory> OwnDirectory::open(std::string_view path) {
    auto directory = OutputDirectory::of(std::string(path) + "/");
    if (!directory) return directory.error();
    if (std::string fault = fault_of(directory->descriptor()); !fault.empty()) return Error{std::move(fault)};
    return OwnDirectory(std::move(*directory));
}

Result<OwnDirectory> OwnDirectory::make(std::string_view path) {
    for (std::size_t end = 0; end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const auto above = OutputDirectory::of(path.substr(0, end));
        if (!above) return above.error();
        const std::string name = last_name(path.substr(0, end));
        if (!name.empty() && ::mkdirat(above->descriptor(), name.c_str(), directory_mode) != 0 && errno != EEXIST)
            return Error{"'" + name + "' cannot be made: " + error_text(errno)};
    }
    return open(path);
}

Result<OwnDirectory> OwnDirectory::way(std::string_view path, bool make) const {
    Descriptor here(::openat(descriptor(), ".", O_PATH | O_CLOEXEC));
    while (true) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string name(path.substr(0, end));
        if (make && ::mkdirat(here.get(), name.c_str(), directory_mode) != 0 && errno != EEXIST)
            return Error{"'" + name + "' cannot be made: " + error_text(errno)};
        here = Descriptor(::openat(here.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!here) return Error{"'" + name + "' in it: " + error_text(errno)};
        if (const std::string fault = fault_of(here.get()); !fault.empty())
            return Error{"'" + name + "' in it " + fault};
        if (end == path.size()) return OwnDirectory(std::move(here));
        path.remove_prefix(end + 1);
    }
}

Result<OwnDirectory> OwnDirectory::enter(std::string_view path) const { return way(path, false); }
Result<OwnDirectory> OwnDirectory::make_in(std::string_view path) const { return way(path, true); }

Result<void> OwnDirectory::remove_tree(const std::string& name) const {
    if (::unlinkat(descriptor(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return Error{name + ": cannot be deleted: " + error_text(errno)};
    const auto tree = enter(name);
    if (!tree) return Error{name + ": cannot be deleted: " + tree.error().message};
    if (auto cleared = tree->clear(); !cleared) return Error{name + "/" + cleared.error().message};
    if (::unlinkat(descriptor(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    return Error{name + ": cannot be deleted: " + error_text(errno)};
}

Result<void> OwnDirectory::clear() const {
    for (const std::string& name : names()) {
        if (auto removed = remove_tree(name); !removed) return removed;
    }
    return {};
}

std::vector<std::string> OwnDirectory::names() const {
    return names_in(descriptor()).value_or(std::vector<std::string>());
}

}  // namespace flameprobe

#include "profile/run_directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/proc.hpp"
#include "base/work_steps.hpp"
#include "base/write_lock.hpp"

namespace flameprobe {
namespace {

constexpr const char *owner_file = "owner", *drawn_file = "drawn", *lock_file = "lock", *gone = ".gone.";
constexpr mode_t others_write = S_IWGRP | S_IWOTH, folder_mode = 0755, file_mode = 0644;

std::string mark_in(const OutputDirectory& folder) {
    constexpr std::size_t most_bytes = 8192;
    struct stat found {};
    const Descriptor file = folder.open(owner_file, O_RDONLY);
    std::string text(most_bytes, '\0');
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
    text.resize(read_at(file.get(), 0, std::as_writable_bytes(std::span(text))));
    return text;
}

}  // namespace

std::string mark_in_run(const std::string& folder) {
    const auto directory = OutputDirectory::of(folder + "/");
    return directory ? mark_in(*directory) : std::string();
}

std::string RunDirectory::longest_name(const std::string& path) { return last_name(path) + gone + chance_name(); }

Result<RunDirectory> RunDirectory::open_in(const OutputDirectory& parent, const std::string& name, std::string path,
                                           uid_t also) {
    struct stat found {};
    auto inside = parent.directory_in(name);
    if (!inside || ::fstat(inside->descriptor(), &found) != 0) {
        const int why = errno;
        const std::string obstacle = parent.obstacle(name);
        errno = why;
        return Error{obstacle.empty() || why != ENOTDIR ? "cannot be opened: " + error_text(why) : obstacle};
    }
    const bool trusted = found.st_uid == ::geteuid() || found.st_uid == 0 || found.st_uid == also;
    const bool ours = trusted || inside->owner_of_new() == found.st_uid;
    errno = EPERM;
    if (!ours) return Error{"is a directory" + whose(found)};
    if ((found.st_mode & others_write) != 0) return Error{"may be written by other users"};
    return RunDirectory(std::move(*inside), std::move(path), found.st_uid);
}

Result<std::optional<RunDirectory>> RunDirectory::at(const std::string& path, uid_t also) {
    const auto parent = OutputDirectory::of(path);
    struct stat found {};
    const std::string name = last_name(path);
    if (!parent || (!parent->status(name, found) && errno == ENOENT)) return std::optional<RunDirectory>();
    auto opened = open_in(*parent, name, path, also);
    if (opened) return std::optional(std::move(*opened));
    if (errno == ENOENT) return std::optional<RunDirectory>();
    return opened.error();
}

bool RunDirectory::write_mark(const std::string& mark) const {
    const Descriptor owner = create(owner_file, file_mode);
    const bool written = owner && ::write(owner.get(), mark.data(), mark.size()) == static_cast<ssize_t>(mark.size());
    return written && create(lock_file, 0600);
}

/// Whether that name leads here still.
bool RunDirectory::has_name(const OutputDirectory& parent, const std::string& name) const {
    struct stat named {
    }, here{};
    return parent.status(name, named) && ::fstat(descriptor(), &here) == 0 && same_file(named, here);
}

Result<std::optional<RunDirectory>> RunDirectory::make(const std::string& path, const std::string& mark) {
    const auto parent = OutputDirectory::of(path);
    if (!parent) return parent.error();
    const std::string name = last_name(path), unready = name + ".new." + chance_name();
    if (::mkdirat(parent->descriptor(), unready.c_str(), folder_mode) != 0) return Error{error_text(errno)};
    auto made = open_in(*parent, unready, path, no_user);
    if (!made) return made.error();
    int why = 0;
    if (!made->write_mark(mark))
        why = errno;
    else if (!parent->rename_to_unused(unready, *parent, name))
        why = errno;
    else if (made->has_name(*parent, name))
        return std::optional(std::move(*made));
    else
        why = EEXIST;
    for (const char* file : {lock_file, owner_file}) made->remove(file);
    if (made->has_name(*parent, unready)) ::unlinkat(parent->descriptor(), unready.c_str(), AT_REMOVEDIR);
    errno = why;
    if (why == EEXIST || why == ENOTEMPTY || why == ENOTDIR) return std::optional<RunDirectory>();
    return Error{error_text(why)};
}

std::string RunDirectory::mark() const { return mark_in(*this); }

void RunDirectory::mark_drawn() const { create(drawn_file, file_mode); }

bool RunDirectory::is_drawn() const {
    struct stat found {};
    return status(drawn_file, found);
}

std::optional<std::vector<std::string>> RunDirectory::list_profiles() const {
    auto names = names_in(descriptor());
    if (!names) return std::nullopt;
    std::erase_if(*names, [](const std::string& name) { return !name.ends_with(".fprobe"); });
    std::ranges::sort(*names);
    return names;
}

bool RunDirectory::is_growing(const std::string& name) const {
    const Descriptor file = open(name, O_RDONLY);
    return file && is_locked_by_writer(file);
}

bool RunDirectory::has_growing() const {
    return std::ranges::any_of(profiles(), [this](const std::string& name) { return is_growing(name); });
}

Result<Descriptor> RunDirectory::lock() const {
    constexpr std::uint64_t patience_ns = 4 * ns_per_second;
    constexpr timespec pause{0, 5'000'000};
    if (is_anothers()) return Descriptor();
    Descriptor file = open(lock_file, O_RDWR);
    if (!file) return Error{error_text(errno)};
    Deadline deadline(patience_ns);
    struct stat seen {
    }, now{};
    for (::fstat(file.get(), &seen); !lock_to_write(file); ::nanosleep(&pause, nullptr)) {
        if (::fstat(file.get(), &now) == 0 && ns_of(now.st_mtim) != ns_of(seen.st_mtim)) {
            seen = now;
            deadline = Deadline(patience_ns);
            work_step_done();
        }
        errno = ETIMEDOUT;
        if (deadline.over()) return Error{"the process that draws it does not go on"};
    }
    return file;
}

bool RunDirectory::is_at(const std::string& path) const {
    const auto parent = OutputDirectory::of(path);
    return parent && has_name(*parent, last_name(path));
}

bool RunDirectory::is_anothers() const {
    return ::faccessat(descriptor(), ".", W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES;
}

// The files before the folder: from then on what lies there under a name is the new user's choice.
void RunDirectory::give_to(uid_t user) const {
    if (user_ != ::geteuid()) return;
    constexpr auto same_group = static_cast<gid_t>(-1);
    const auto give = [&](const char* name, int flags) {
        [[maybe_unused]] const int given = ::fchownat(descriptor(), name, user, same_group, flags);
    };
    for (const std::string& name : profiles()) give(name.c_str(), AT_SYMLINK_NOFOLLOW);
    for (const char* file : {lock_file, owner_file}) give(file, AT_SYMLINK_NOFOLLOW);
    give("", AT_EMPTY_PATH);
}

bool RunDirectory::move_out(const std::string& name, const std::string& to) const {
    const auto target = OutputDirectory::of(to);
    return target && rename_to_unused(name, *target, last_name(to));
}

void RunDirectory::remove_if(const std::function<bool(const std::string& name)>& is_done) const {
    const auto stays = [&](const std::string& name) { return !is_done(name) || is_growing(name); };
    const auto any_stays = [&] {
        const auto names = list_profiles();
        return !names || std::ranges::any_of(*names, stays);
    };
    if (any_stays() || is_anothers()) return;
    const auto parent = OutputDirectory::of(path_);
    const std::string name = last_name(path_), away = longest_name(path_);
    if (!parent) return;
    remove_leftovers(*parent, name + gone);
    if (!has_name(*parent, name) || parent->rename(name, away) != 0) return;
    const auto put_back = [&] { parent->rename_to_unused(away, *parent, name); };
    if (!has_name(*parent, away) || any_stays()) return put_back();
    const std::string mark = this->mark();
    if (remove_from(*parent, away, stays) || !has_name(*parent, away)) return;
    if (write_mark(mark)) put_back();  // a profile has come at the last moment
}

/// False if it is not empty.
bool RunDirectory::remove_from(const OutputDirectory& parent, const std::string& name,
                               const std::function<bool(const std::string& name)>& stays) const {
    for (const std::string& profile : profiles())
        if (!stays(profile)) remove(profile);
    for (const char* file : {drawn_file, lock_file, owner_file}) remove(file);
    return has_name(parent, name) && ::unlinkat(parent.descriptor(), name.c_str(), AT_REMOVEDIR) == 0;
}

/// Folders of earlier runs with this name, whose drawing program was killed while it removed them.
void RunDirectory::remove_leftovers(const OutputDirectory& parent, const std::string& beginning) {
    for (const std::string& name : names_in(parent.descriptor()).value_or(std::vector<std::string>())) {
        if (!name.starts_with(beginning)) continue;
        const auto folder = open_in(parent, name, name, no_user);
        if (!folder || folder->user_ != ::geteuid()) continue;
        const Descriptor lock = folder->open(lock_file, O_RDWR);
        if ((lock && !lock_to_write(lock)) || folder->has_growing()) continue;
        folder->remove_from(parent, name, [](const std::string&) { return false; });
    }
}

}  // namespace flameprobe

#include "session/run_folder.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/proc.hpp"
#include "profile/format.hpp"

namespace flameprobe {
namespace {

constexpr unsigned most_numbers = 100000;

Error cannot_make(const std::string& folder, int error, const std::string& why = {}) {
    return Error{folder + " cannot be created: " + (why.empty() ? error_text(error) : why) + remedy_for_failure(error)};
}

/// Gives it a name that nothing has. Network file systems (NFS, 9p, most of FUSE) cannot do that at once (EINVAL); a
/// folder that is not empty no rename replaces there either.
bool rename_to_unused(const std::string& from, const std::string& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL) return false;
    struct stat found {};
    if (::lstat(to.c_str(), &found) != 0) return ::renameat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str()) == 0;
    errno = EEXIST;
    return false;
}

}  // namespace

bool RunFolder::is_ours(const std::string& stem) const {
    return read_small_file((stem + ".run/" + run_owner).c_str()).value_or("") == mark_;
}

// A process that runs as another user than the folder's, and could not make its profile before, needs one of its own.
bool RunFolder::may_enter(const std::string& stem) {
    if (!is_ours(stem)) return false;
    const bool writable = ::access((stem + ".run").c_str(), W_OK | X_OK) == 0;
    apart_ = apart_ || !writable;
    return writable;
}

bool RunFolder::find() {
    if (!stem_.empty() && may_enter(stem_)) return true;
    for (unsigned number = 1; number < most_numbers; ++number) {
        const std::string stem = numbered(wanted_, number);
        if (may_enter(stem)) return stem_ = stem, true;
        struct stat found {};
        const bool in_use =
            ::lstat((stem + ".run").c_str(), &found) == 0 || ::lstat((stem + ".fprobe").c_str(), &found) == 0;
        if (!in_use) return false;
    }
    return false;
}

/// The first process may have had another program before, whose end made the result so far. A result begins with a
/// process's run record, which has the mark.
bool RunFolder::is_of_ours(const Descriptor& result) const {
    std::string head(format::full_block_payload, '\0');
    const ssize_t got = ::pread(result.get(), head.data(), head.size(), 0);
    return got > 0 && std::string_view(head.data(), static_cast<std::size_t>(got)).find(mark_) != head.npos;
}

/// Whether the profile may take this name: another run's that was written since this one began is kept too.
bool RunFolder::may_use(const std::string& stem, const OlderResults& older) {
    const auto directory = OutputDirectory::of(stem);
    const std::string name = last_name(stem + ".fprobe");
    struct stat found {};
    if (!directory || !directory->status(name, found)) return true;  // making the folder tells what is wrong
    const std::string obstacle = directory->obstacle(name);
    if (!obstacle.empty() && avoided_.empty()) avoided_ = stem + ".fprobe " + obstacle;
    if (!obstacle.empty()) return false;
    return older.give_way(found) || (older.grows && is_of_ours(directory->open(name, O_RDONLY)));
}

bool RunFolder::write_owner(const OutputDirectory& folder) const {
    const Descriptor owner = folder.create(run_owner, 0644);
    return owner && ::write(owner.get(), mark_.data(), mark_.size()) == static_cast<ssize_t>(mark_.size());
}

// Under another name first, so that no process finds a folder without its owner.
Result<bool> RunFolder::make_at(const std::string& stem) const {
    const std::string folder = stem + ".run", unready = folder + ".new." + std::to_string(::getpid());
    if (const auto directory = OutputDirectory::of(folder); !directory)
        return cannot_make(folder, errno, directory.error().message);
    if (::mkdir(unready.c_str(), 0755) != 0 && errno != EEXIST) return cannot_make(folder, errno);
    const auto inside = OutputDirectory::of(unready + "/");
    if (!inside || !write_owner(*inside)) {
        const int why = errno;
        ::unlink((unready + "/" + run_owner).c_str());
        ::rmdir(unready.c_str());
        return cannot_make(folder, why);
    }
    if (rename_to_unused(unready, folder)) return true;
    const int why = errno;
    inside->remove(run_owner);
    ::rmdir(unready.c_str());
    if (why == EEXIST || why == ENOTEMPTY) return false;
    return cannot_make(folder, why);
}

Result<void> RunFolder::make(const OlderResults& older) {
    for (unsigned number = 1; number < most_numbers; ++number) {
        const std::string stem = numbered(wanted_, number);
        if (may_enter(stem)) return stem_ = stem, Result<void>();
        struct stat found {};
        if (::lstat((stem + ".run").c_str(), &found) == 0) {
            if (may_enter(stem)) return stem_ = stem, Result<void>();  // another process of the run was faster
            continue;
        }
        if (!may_use(stem, older)) continue;
        const auto made = make_at(stem);
        if (!made) return made.error();
        if (!*made && !may_enter(stem)) continue;
        stem_ = stem;
        if (!avoided_.empty()) avoided_ += ": the results are " + stem_ + ".*";
        return {};
    }
    return cannot_make(wanted_ + ".run", EEXIST, "all names are taken");
}

// The files before the folder: from then on what lies there under a name is the new user's choice.
void RunFolder::give_to(uid_t user) const {
    struct stat found {};
    const auto inside = OutputDirectory::of(path() + "/");
    if (stem_.empty() || !inside || ::fstat(inside->descriptor(), &found) != 0 || found.st_uid != ::geteuid()) return;
    constexpr auto same_group = static_cast<gid_t>(-1);
    const auto give = [&](const char* name, int flags) {
        [[maybe_unused]] const int given = ::fchownat(inside->descriptor(), name, user, same_group, flags);
    };
    for (const std::string& name : profiles_in_run(path())) give(name.c_str(), AT_SYMLINK_NOFOLLOW);
    give(run_owner, AT_SYMLINK_NOFOLLOW);
    give("", AT_EMPTY_PATH);
}

void RunFolder::remove_if_empty() const {
    if (!stem_.empty()) remove_run_folder(path(), [](const std::string&) { return false; });
}

std::string RunFolder::give_out_only() const {
    const std::vector<std::string> names = profiles_in_run(path());
    const std::string result = stem_ + ".fprobe";
    if (names.size() != 1 || has_living() || !rename_to_unused(path() + "/" + names.front(), result)) return path();
    remove_if_empty();
    return result;
}

bool RunFolder::drawn() const { return ::access((path() + "/" + run_drawn).c_str(), F_OK) == 0; }

bool RunFolder::has_living() const {
    return std::ranges::any_of(profiles_in_run(path()),
                               [this](const std::string& name) { return is_growing(path() + "/" + name); });
}

}  // namespace flameprobe

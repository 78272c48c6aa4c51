// What is in the folder of a run (<out>.run), for those who write into it and those who draw it.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/output_directory.hpp"
#include "base/proc.hpp"

namespace flameprobe {

/// Names in the folder: whose it is, and that the first process has ended.
inline constexpr const char *run_owner = "owner", *run_drawn = "drawn";

/// The names of the profiles in it, sorted; nothing, if it cannot be read.
inline std::optional<std::vector<std::string>> list_profiles(const std::string& folder) {
    auto names = names_in(AT_FDCWD, folder.c_str());
    if (!names) return std::nullopt;
    std::erase_if(*names, [](const std::string& name) { return !name.ends_with(".fprobe"); });
    std::ranges::sort(*names);
    return names;
}
inline std::vector<std::string> profiles_in_run(const std::string& folder) {
    return list_profiles(folder).value_or(std::vector<std::string>());
}
/// Whether a process is writing this profile: it holds the file's lock.
/// A shared lock conflicts with its writer's too. For an exclusive one NFS wants a file that is open for writing
/// (EBADF).
inline bool is_growing(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}
/// Whether the caller may not change what is in the folder: it was made before the process became another user.
inline bool is_anothers(const std::string& folder) {
    return ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES;
}
/// Removes the folder with its profiles, if each of them `is_done` and does not grow. It gets another name first: a
/// process that begins a profile meanwhile, and one that goes on, get theirs back. One that is_anothers() stays.
inline void remove_run_folder(const std::string& folder, const std::function<bool(const std::string& name)>& is_done) {
    const auto stays = [&](const std::string& in, const std::string& name) {
        return !is_done(name) || is_growing(in + "/" + name);
    };
    const auto any_stays = [&](const std::string& in) {
        const auto names = list_profiles(in);
        return !names || std::ranges::any_of(*names, [&](const std::string& name) { return stays(in, name); });
    };
    if (any_stays(folder) || is_anothers(folder)) return;
    const std::string away = folder + ".gone." + std::to_string(::getpid());
    if (::rename(folder.c_str(), away.c_str()) != 0) return;
    if (any_stays(away)) {
        ::rename(away.c_str(), folder.c_str());
        return;
    }
    for (const std::string& name : profiles_in_run(away))
        if (!stays(away, name)) ::unlink((away + "/" + name).c_str());
    const std::string mark = read_small_file((away + "/" + run_owner).c_str()).value_or("");
    for (const char* name : {run_drawn, run_owner}) ::unlink((away + "/" + name).c_str());
    if (::rmdir(away.c_str()) == 0) return;
    // A profile has come at the last moment.
    const auto inside = OutputDirectory::of(away + "/");
    const Descriptor owner = inside ? inside->create(run_owner, 0644) : Descriptor();
    if (owner && ::write(owner.get(), mark.data(), mark.size()) == static_cast<ssize_t>(mark.size()))
        ::rename(away.c_str(), folder.c_str());
}

}  // namespace flameprobe

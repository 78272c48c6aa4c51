// What is in the folder of a run (<out>.run), for those who write into it and those who draw it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace flameprobe {

/// Names in the folder: whose it is, and that the first process has ended.
inline constexpr const char *run_owner = "owner", *run_drawn = "drawn";

/// The names of the profiles in it, sorted.
std::vector<std::string> profiles_in_run(const std::string& folder);
/// Whether a process is writing this profile: it holds the file's lock.
bool is_growing(const std::string& path);
/// Removes the folder with its profiles, if each of them `is_done` and does not grow. It gets another name first: a
/// process that begins a profile meanwhile, and one that goes on, get theirs back.
void remove_run_folder(const std::string& folder, const std::function<bool(const std::string& name)>& is_done);

}  // namespace flameprobe

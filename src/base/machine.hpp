// What measurements depend on besides the program, for the record in every profile. No other program is run for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace flameprobe {

using MachineFacts = std::vector<std::pair<std::string, std::string>>;

/// CPU, cores, governor, kernel, paranoid, container, in this order. What cannot be read is "not known".
MachineFacts machine_facts();

/// The commit that is checked out where `directory` is, read from .git as git would; empty if it is in no repository.
/// Whether files were changed since is not looked at.
std::string git_commit(const std::string& directory);

}  // namespace flameprobe

// What a program is called.
#pragma once

#include <string>
#include <string_view>

#include "base/base_name.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// As the user typed it: the base name of the command's first word. Not from the executable's path, which has links
/// resolved (redis-check-rdb for redis-server), except where the command has that path, maybe with spaces in it.
inline std::string program_name(const RunInfo& run) {
    const std::string first = run.command.substr(0, run.command.find(' '));
    std::string name(base_name(first.ends_with(':') ? first.substr(0, first.size() - 1) : first));
    if (name.starts_with('-')) name.erase(0, 1);  // a login shell
    const bool is_path = !run.executable.empty() && run.command.starts_with(run.executable);
    return name.empty() || is_path || is_dynamic_linker(name) ? std::string(base_name(run.executable)) : name;
}

}  // namespace flameprobe

#pragma once

#include <sys/types.h>
#include <time.h>

#include <string>

#include "session/output_path.hpp"
#include "session/run_info.hpp"

namespace flameprobe {

/// The path for the results of `pid`, which is watched, as a template that stands for itself.
inline std::string literal_out(const std::string& out, pid_t pid, const timespec& start) {
    const PathFacts facts{executable_name(), static_cast<std::uint32_t>(pid), static_cast<std::uint64_t>(start.tv_sec),
                          0, working_directory()};
    std::string literal;
    for (const char c : expand_path(out, facts)) literal += c == '%' ? "%%" : std::string(1, c);
    return literal;
}

}  // namespace flameprobe

// What the collector needs of the process, and must not ask while the host's threads run.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flameprobe {

struct AtLoad {
    /// Of those that FlameProbe uses; null if the host had it not.
    const std::string* variable(std::string_view name) const;

    std::vector<std::pair<std::string, std::string>> variables;
    /// Where libflameprobe-core.so is, which this code is a part of; empty if that is not known.
    std::string core_directory;
};

/// As it was at the first call: by the thread that loads the core. Later a thread of the host may be in setenv(3),
/// beside which getenv(3) is not safe, or may have ended while it held the dynamic linker's lock, which dladdr takes.
const AtLoad& at_load();

}  // namespace flameprobe

// Windows with names, those of one service and one stretch of time together.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "merge.hpp"
#include "push/container_roots.hpp"
#include "push/settings.hpp"
#include "push/spool_directory.hpp"
#include "symbolize/load.hpp"

namespace flameprobe::push {

struct WindowGroup {
    std::vector<Window> windows;
    Labels labels;
    NamedProfile profile;
};

struct BadWindow {
    std::string name;
    std::string why;
};

/// Names what it has seen once by build id, from one call to the next. Memory: see SymbolCache; begun anew every hour.
class WindowLoader {
public:
    explicit WindowLoader(const Settings& settings) : settings_(settings) {}

    /// Windows of one service, labels, event and quarter of a minute are one profile, its weights in nanoseconds of CPU
    /// time where they are a clock's: each process has a period of its own. A window alone stays as it is. Windows
    /// without samples are a group of no service. `bad` gets those that are no profiles.
    std::vector<WindowGroup> load(const SpoolDirectory& spool, const std::vector<Window>& windows,
                                  std::vector<BadWindow>& bad);

private:
    Result<NamedProfile> load_one(const SpoolDirectory& spool, const std::string& name);
    Labels labels_of(const NamedProfile& profile) const;

    const Settings& settings_;
    ContainerRoots roots_;
    SymbolCache cache_;
    std::chrono::steady_clock::time_point cache_until_{};
};

}  // namespace flameprobe::push

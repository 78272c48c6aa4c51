// Groups windows of one service and one stretch of time, with names.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "container_roots.hpp"
#include "merge.hpp"
#include "settings.hpp"
#include "spool_directory.hpp"
#include "symbolize/load.hpp"

namespace flameprobe::push {

struct WindowGroup {
    std::vector<Window> windows;
    std::string event;
    Labels labels;
    NamedProfile profile;
};

struct BadWindow {
    std::string name;
    std::string why;
};

/// Loads windows, and keeps names by build id from one call to the next. Memory: see SymbolCache, which is emptied
/// every hour.
class WindowLoader {
public:
    explicit WindowLoader(const Settings& settings) : settings_(settings) {}

    /// Merges windows of the same service, labels and quarter of a minute into one profile for each event that is not
    /// done. A single window stays as it is. Windows without samples form a group without a service. `bad` gets files
    /// that are no profiles.
    std::vector<WindowGroup> load(const SpoolDirectory& spool, const std::vector<Window>& windows,
                                  std::vector<BadWindow>& bad);
    /// That event of the window need not be sent any more. Whether all of its events are so.
    bool is_done(const std::string& window, const std::string& event);

private:
    Result<NamedProfile> load_one(const SpoolDirectory& spool, const std::string& name, const std::string& event);
    Labels labels_of(const NamedProfile& profile) const;

    const Settings& settings_;
    ContainerRoots roots_;
    SymbolCache cache_;
    std::map<std::string, std::set<std::string>> left_;  // events, by window
    std::chrono::steady_clock::time_point cache_until_{};
};

}  // namespace flameprobe::push

// The program that draws a run's results, outside of the host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "session/options.hpp"

namespace flameprobe {

struct Drawn {
    std::vector<std::string> messages;  // "wrote PATH"
    std::vector<std::string> problems;  // one line each
};

/// Starts flameprobe-draw for the run in `folder` (<out>.run) and waits until the result is written. `alive` is called
/// as work goes on. An Error, one sentence, where it cannot be started, fails, or says nothing for half a minute: the
/// profiles are in the folder still. It is found beside this library only. It is no child of the host's when it runs,
/// gets nothing of the host's environment but where debug files are found, and no descriptor of the host's. The
/// collector thread only.
Result<Drawn> draw_run(const std::string& folder, const Options& options, const std::function<void()>& alive);

}  // namespace flameprobe

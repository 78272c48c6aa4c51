// From a finished `.fprobe` to what FLAMEPROBE_FORMAT asks for, by the code that flameprobe-render uses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "collect/profile_file.hpp"
#include "session/options.hpp"

namespace flameprobe {

/// `stem`, or with ".2", ".3", ... after it the first of which no file has to stay: none that `older` keeps, and none
/// that was written since the run began, as another of its processes may have done.
std::string unused_stem(const std::string& stem, const std::vector<Format>& formats, const OlderResults& older);

struct Written {
    std::vector<std::string> paths;
    std::vector<std::string> problems;  // one line each
};

/// Writes STEM.ENDING for every format of the options from `profile_path`. With `workers` threads (0: one per CPU).
/// `alive` is called as work goes on; on
/// `terminal`, if there is one, work that lasts is shown.
Written write_results(const std::string& profile_path, const std::string& stem, const Options& options,
                      unsigned workers, const std::function<void()>& alive, Descriptor terminal = {});

}  // namespace flameprobe

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

/// `stem`, or the first of STEM.2, STEM.3, ... under which there is no file that must be kept: one that `older` keeps,
/// or one that was written since the run began, perhaps by another of its processes.
std::string unused_stem(const std::string& stem, const std::vector<Format>& formats, const OlderResults& older);

struct Written {
    std::vector<std::string> paths;
    std::vector<std::string> problems;  // one line each
};

/// Writes STEM.ENDING for every format of the options from `profile_path`, with `workers` threads (0: one per CPU).
/// `alive` is called as work goes on; the progress of long work is shown on `terminal`, if there is one.
Written write_results(const std::string& profile_path, const std::string& stem, const Options& options,
                      unsigned workers, const std::function<void()>& alive, Descriptor terminal = {});

}  // namespace flameprobe

#pragma once

#include <vector>

#include "base/result.hpp"
#include "capture/raw_sample.hpp"

namespace flameprobe {

/// The executable mappings of this process from /proc/thread-self/maps, in address order (/proc/self is the main
/// thread, which has no memory any more once it has ended). The strings that the views point into live as long as the
/// returned object.
struct ProcMaps {
    std::string text;
    std::vector<RawMapping> mappings;
};
Result<ProcMaps> read_proc_maps();

}  // namespace flameprobe

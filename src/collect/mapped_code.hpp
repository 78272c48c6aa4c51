// What lies in memory from which code is executed.
#pragma once

#include "capture/record.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe {

/// Code that was moved to anonymous memory, in its place and byte for byte, is the file's of which `known` tells that
/// it lay there.
CodeRegion region_of(const RawMapping& mapping, const CodeMap& known);

}  // namespace flameprobe

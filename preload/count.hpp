// Units of work that threads of the host have counted.
#pragma once

#include <stddef.h>

#include "session/core_api.h"

namespace flameprobe {

/// Fills in at most `most` counts, and gives how many. Threads may count meanwhile. Async-signal-safe.
size_t read_unit_counts(flameprobe_unit_count* counts, size_t most);

}  // namespace flameprobe

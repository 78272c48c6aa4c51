// Whether this machine can still find the names of a profile's kernel, vdso and JIT code.
#pragma once

#include "profile/model.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// The run started on this machine since it was booted. Addresses of the kernel and the vdso differ from boot to boot,
/// so names looked up in another boot would be wrong.
bool is_of_this_boot(const RunInfo& run);

/// /tmp/perf-PID.map was written after the run's start, and so not by an earlier process with the same pid.
bool has_own_perf_map(const RunInfo& run);

/// `options`, with `same_boot`, `same_place`, `root` and `pid` set from the run where the caller left them open.
SymbolizeOptions with_provenance(SymbolizeOptions options, const RunInfo& run);

}  // namespace flameprobe

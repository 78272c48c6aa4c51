// Whether this machine can still name what a profile saw outside of files.
#pragma once

#include "profile/model.hpp"
#include "symbolize/symbolizer.hpp"

namespace flameprobe {

/// The run started on this machine since it was booted. The kernel's and the vdso's addresses are random for each boot,
/// so that names looked up elsewhere, or later, would be wrong ones.
bool is_of_this_boot(const RunInfo& run);

/// /tmp/perf-PID.map was written while or after the run's process lived, rather than by an earlier one of its pid.
bool has_own_perf_map(const RunInfo& run);

/// `options` with what the caller left open and the run can tell: `same_boot`, `same_place`, `root` and `pid`.
SymbolizeOptions with_provenance(SymbolizeOptions options, const RunInfo& run);

}  // namespace flameprobe

// The state of the spool and the counts of its windows, as text for --status and for Prometheus (--metrics).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spool_directory.hpp"

namespace flameprobe::push {

struct Figure {
    const char* name;  // "dropped bytes"; Prometheus: flameprobe_push_dropped_bytes_total
    bool counts;       // a count since the spool was first used; else a present value
    std::uint64_t value;
};

/// The figures of both texts: the counts, and the windows that wait in the spool.
std::vector<Figure> figures(SpoolDirectory& spool, const Counts& counts);

/// "name: value" lines, the last error last.
std::string status_text(SpoolDirectory& spool, const Counts& counts);

/// In Prometheus's text format, with the uploader's own CPU seconds and memory.
std::string metrics_text(SpoolDirectory& spool, const Counts& counts);

}  // namespace flameprobe::push

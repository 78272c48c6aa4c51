// What is told about the spool and what became of its windows: by --status for people, at --metrics for Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "push/spool_directory.hpp"

namespace flameprobe::push {

struct Figure {
    const char* name;  // "dropped bytes"; Prometheus: flameprobe_push_dropped_bytes_total
    bool counts;       // up only, since the spool was first used; else as it is now
    std::uint64_t value;
};

/// The counts and what waits in the spool, one list for both.
std::vector<Figure> figures(SpoolDirectory& spool, const Counts& counts);

/// "name: value" lines, the last error last.
std::string status_text(SpoolDirectory& spool, const Counts& counts);

/// In Prometheus's text format, with the uploader's own CPU seconds and memory.
std::string metrics_text(SpoolDirectory& spool, const Counts& counts);

}  // namespace flameprobe::push

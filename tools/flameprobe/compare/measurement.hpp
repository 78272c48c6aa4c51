// One side of a comparison of results of the bench.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace flameprobe::compare {

struct MeasuredRun {
    double units = 0;    // of work; seconds of the load where none is counted
    double seconds = 0;  // of the load
    std::uint64_t samples = 0;
    double sampled_share = 1;                        // of the CPU time
    std::vector<std::string> profiles;               // paths, as they were when the bench ended; empty in older reports
    std::uint64_t from_unix_ns = 0, to_unix_ns = 0;  // the load's time
};

/// What functions cost themselves, by name: for each run, of a unit of work.
using Costs = std::map<std::string, std::vector<double>>;

struct MeasuredPoint {
    std::string scenario, unit;
    bool counts_work = false;
    std::map<std::string, std::string> sweep;  // variables and their values
    std::vector<MeasuredRun> runs;
    std::map<std::string, Costs> costs;  // by event: cpu in nanoseconds, and alloc in bytes and alloc-objects
    double allocation_samples = 0;       // in a run

    /// The scenario with its variables: "keys workers=2".
    std::string title() const;
};

struct Measurement {
    std::string path;
    std::vector<MeasuredPoint> points;
};

/// A directory with a report.json, or that file.
Result<Measurement> read_measurement(const std::string& path);
/// The measurement in the text of a report.json; `path` is for messages, and profiles are looked for beside it.
Result<Measurement> parse_measurement(const std::string& text, const std::string& path);

/// Old and new that were measured in one bench, as two values of a variable: their runs took turns.
struct TwoSides {
    Measurement before, after;  // paths: "version=old", "version=new"
};
/// Divides the points into those with the variable's first value and those with its second, with equal titles on both
/// sides. An Error if no scenario has the variable, or it does not have two values.
Result<TwoSides> two_values(const Measurement& measurement, const std::string& variable);

/// Whether the name ends in .tar, .tgz, .tar.gz, .tar.xz or .tar.zst.
bool is_archive(const std::string& path);

}  // namespace flameprobe::compare

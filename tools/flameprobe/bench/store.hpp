// The directory of a bench: finished runs, and room for the next ones.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "bench_file.hpp"
#include "outside/own_directory.hpp"
#include "run_record.hpp"

namespace flameprobe::bench {

/// DIR/bench.toml        the bench file; a directory with another one is not used
/// DIR/runs/POINT/N/     one run: run.json (when it is over), profiles, program.log, load.log
/// DIR/pictures/         flame graphs
/// DIR/report.*
class Store {
public:
    /// `wanted` empty: results/DATE-COMMIT, or with .2, .3, ... at its end where that one is complete or another
    /// bench's; with a name, that directory. It is made; no other user may own or write it.
    static Result<Store> open(const std::string& wanted, const BenchFile& file);

    const std::string& path() const { return path_; }  // as the user would write it
    const std::string& absolute() const { return absolute_; }
    bool resumed() const { return resumed_; }  // it has runs of an earlier command

    static std::string run_path(const Point& point, unsigned repetition);
    /// The record of a run that has succeeded.
    std::optional<RunRecord> finished(const Point& point, unsigned repetition) const;
    /// Makes the run's directory, empty.
    Result<OwnDirectory> begin(const Point& point, unsigned repetition) const;
    Result<void> keep(const Point& point, const RunRecord& run) const;
    Result<void> write(const std::string& name, const std::string& text) const;
    Result<void> make_pictures_place() const;

private:
    Store(std::string path, OwnDirectory directory, bool resumed);

    std::string path_, absolute_;
    OwnDirectory directory_;
    bool resumed_;
};

}  // namespace flameprobe::bench

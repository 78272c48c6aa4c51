#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "export/folded_reader.hpp"
#include "merge.hpp"
#include "outside/byte_stream.hpp"
#include "process_tree.hpp"
#include "progress.hpp"
#include "symbolize/load.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// Whether it is a file, and neither a pipe nor stdin.
bool can_be_read_twice(const std::string& path);

/// Loads one input after the other into one profile.
class Loader {
public:
    /// `names`: null if the process is no frame. `run`: the processes of the one run that the inputs are, or none.
    Loader(const Arguments& arguments, Progress& progress, bool several, const ProcessNames* names,
           const std::vector<ProcessPart>& run)
        : arguments_(arguments),
          progress_(progress),
          several_(several),
          process_names_(names),
          run_(run),
          clock_(run.empty() ? std::nullopt : std::optional(RunClock(run))),
          merged_(clock_) {}

    /// Looks up the names of all inputs together, before the first of several is loaded.
    void learn_names(const std::vector<std::string>& paths);
    Result<void> add(const std::string& path);
    NamedProfile take();

private:
    Result<void> add_profiles(ByteSource& source);
    Result<void> add_profile(ByteSource& source);
    Result<void> add_folded(ByteSource& source);
    SampleFilter filter_for(const ByteSource& source) const;
    NamedProfile take_merged();

    const Arguments& arguments_;
    Progress& progress_;
    const bool several_;  // profiles, of inputs or of processes
    const ProcessNames* const process_names_;
    const std::vector<ProcessPart>& run_;
    const std::optional<RunClock> clock_;
    std::vector<ProcessShare> shares_;
    std::vector<std::string> shown_;    // events, of any input
    std::optional<NamedProfile> only_;  // a single .fprobe, which keeps its addresses
    SymbolCache names_;
    std::vector<std::string> warnings_;  // of all inputs together
    ProfileMerger merged_;
    NamedProfile folded_;
    std::optional<FoldedReader> reader_;
};

}  // namespace flameprobe

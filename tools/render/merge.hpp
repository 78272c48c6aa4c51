// Merges many profiles into one: of a process tree, a fleet, or repeated runs of a benchmark.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id_table.hpp"
#include "outside/processes.hpp"
#include "symbolize/named_profile.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

/// The time axis of a run of several processes, each of which counts from its own start.
/// By the monotonic clock, which cannot be set.
class RunClock {
public:
    explicit RunClock(const std::vector<ProcessPart>& parts) {
        for (const ProcessPart& part : parts) begin_ns_ = std::min(begin_ns_, part.run.start_monotonic_ns);
    }
    /// How long after the run's begin a process began.
    std::uint64_t start_of(const RunInfo& run) const { return std::max(run.start_monotonic_ns, begin_ns_) - begin_ns_; }

private:
    std::uint64_t begin_ns_ = std::numeric_limits<std::uint64_t>::max();
};

/// Keeps distinct stacks only, so memory does not grow with the number of inputs. Code addresses, which differ from
/// process to process, are dropped: frames are equal if function and line are. Threads with the same name become one;
/// in profiles whose stacks begin with their process those of one such frame, and of one number if they have one. If
/// the inputs' periods differ by more than their random part, RunInfo::period_ns is 1.
class ProfileMerger {
public:
    /// `clock`: of the one run that all inputs are processes of; when their samples were taken is kept then, in as many
    /// steps as a process alone has. Inputs of several runs have no time in common.
    explicit ProfileMerger(std::optional<RunClock> clock = {});
    void add(const NamedProfile& input);
    NamedProfile take();
    std::size_t inputs() const { return inputs_; }
    /// The counts so far; a count keeps its index when more profiles are added.
    const std::vector<NamedCount>& counts() const { return result_.counts; }
    /// For each count of the input that was added last, its index in counts().
    const std::vector<std::uint32_t>& last_counts() const { return last_counts_; }

private:
    std::vector<FrameId> add_frames(const NamedProfile& input);
    std::vector<NodeId> add_nodes(const NamedProfile& input);
    std::vector<ThreadId> add_threads(const NamedProfile& input);
    std::uint64_t unit_of(const NamedProfile& input);
    void add_counts(const NamedProfile& input);
    void add_times(const NamedProfile& input);

    NamedProfile result_;
    std::size_t inputs_ = 0;
    std::uint64_t of_folded_ns_ = 1;  // a count of folded text: a period of the first profile that has one
    FunctionIds functions_{result_};
    IdTable frames_;  // by function and line
    NodeIndex nodes_;
    IdTable counts_;  // by node and thread
    std::vector<std::uint32_t> last_counts_;
    std::unordered_map<std::string, ThreadId> threads_;
    const std::optional<RunClock> clock_;
    bool all_have_times_ = true;
    TimeBins times_;  // by count
};

/// Adds the facts of from's run to `into`: sums where they make sense, "various" where the runs differ. `threads` gives
/// the ids that from's threads have in `into`.
void merge_facts(NamedProfile& into, const NamedProfile& from, const std::vector<ThreadId>& threads);
/// Whether two runs have the same period but for its random part: each run's is up to 2.5 % shorter than asked for.
bool same_period(const RunInfo& one, const RunInfo& other);

}  // namespace flameprobe

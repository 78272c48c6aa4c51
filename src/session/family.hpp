// Processes of one run: the first, its forked children (which have its memory), and programs they execute (which know
// of it by a variable in their environment).
#pragma once

#include <time.h>

#include <string>

#include "base/result.hpp"
#include "session/options.hpp"

namespace flameprobe {

struct Family {
    bool descendant = false;  // an earlier process has left its mark in the environment
    bool adopted = false;     // an ancestor in the run takes orphans (prctl(2): PR_SET_CHILD_SUBREAPER)
    bool forked = false;      // so this is not the first, whose number it may have in another pid namespace
    int pid = 0;              // of the first process
    timespec start{};         // of the first process, by CLOCK_REALTIME_COARSE
    std::string name;         // of its program
    std::string directory;    // where it started: relative paths begin here
    /// What all processes of the run, and no others, have in common.
    std::string mark() const;
};

/// To be called in each forked child.
void leave_first_process() noexcept;
/// From now on orphans of the run become this process's children.
void take_orphans() noexcept;
/// Whether the host is the first process of its run.
bool is_first_process();
bool first_process_lives();
/// Where the run's results go, without their ending, as its first process would say.
std::string run_stem(const Options& options);

/// To be called before chroot(2) and pivot_root(2): processes that are forked from then on may not reach the run's
/// folder.
void expect_other_root() noexcept;
/// An error in such a process, if it does not. Only the first one's says anything.
Result<void> reach_run(const Options& options);

/// As it was found at the first call, which is to be before the host can change its environment and directory.
const Family& family();
/// Leaves the mark, where descendants need it: to be in the run's one result, to stay quiet (FLAMEPROBE_CHILDREN=off),
/// to put their results beside the first process's (a relative FLAMEPROBE_OUT) and to keep off each other's (one
/// without %p), or not to repeat a complaint. The host sees one more variable; otherwise none.
void mark_descendants(const Options& options, bool complained);

}  // namespace flameprobe

// The end of a run: checks the profiles of its processes against the gates, draws pictures, and lists them.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <string>
#include <vector>

#include "arguments.hpp"

namespace flameprobe {

/// The options of the run, and its first process.
struct FinishedRun {
    std::string out;      // the template
    std::string command;  // argv[0]
    pid_t pid = 0;
    timespec start{};
    std::vector<Format> formats;
    Gates gates;
    bool draw = false;         // the processes were told to write profiles only
    bool told = false;         // the library tells on stderr why it could not write a picture
    std::uint64_t cpu_ns = 0;  // of the command, with what it loads and we take
    bool obstacle = false;     // why nothing can be sampled was said before the command ran
    std::string spool = {};    // of FLAMEPROBE_PUSH; empty: none
    pid_t target = 0;          // of attach: not a command, but a process that ran before and may run on
    Arguments look = {};       // of pictures that are drawn here
};

struct RunEnd {
    std::vector<std::string> lines;  // for the user, the pictures' paths last
    std::string picture;             // the best one; empty if there is none
    bool passed = true;              // the gates
    bool lost = false;               // not all of what was sampled is in the results that were asked for
};

/// Draws what the library in the command has not drawn: it was told not to, or was killed.
RunEnd end_run(const FinishedRun& run);

}  // namespace flameprobe

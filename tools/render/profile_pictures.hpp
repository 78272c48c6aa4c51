// What flameprobe-draw makes of one `.fprobe`: the outputs that a run asked for, under one name.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "outside/processes.hpp"

namespace flameprobe {

struct ResultOptions {
    std::vector<Format> formats;
    Arguments look;                                   // how pictures are drawn, and where names are looked for
    const std::vector<ProcessPart>* parts = nullptr;  // of the profile, if they were read before
};

/// What there is to tell, one line each.
struct ResultMessages {
    std::vector<std::string> wrote, problems;
    bool failed = false;  // something that was asked for is not written
};

/// Writes STEM.ENDING of every format from the `.fprobe` at `profile`, and the provenance beside a picture.
void draw_profile(const std::string& profile, const std::string& stem, const ResultOptions& options,
                  ResultMessages& messages);

// A run's result from the profiles of its processes.

/// `folder` is <out>.run. Writes <out>.fprobe with all processes of the run, and the pictures. The folder is removed
/// unless a process of the run still writes into it: then the last one to end asks for the result again. Two calls for
/// one run wait for each other.
ResultMessages write_run_result(const std::string& folder, const ResultOptions& options);

}  // namespace flameprobe

#include "run_parts.hpp"

#include <algorithm>
#include <utility>

namespace flameprobe {

void tell_apart(std::vector<ProcessPart>& parts) {
    if (parts.empty() || !parts.front().run.mark.empty()) return;
    const RunInfo& first = parts.front().run;
    const std::string mark = std::to_string(first.start_unix_ns) + "." + std::to_string(first.pid);
    for (ProcessPart& part : parts) {
        part.run.mark = mark;
        part.more += run_block(part.run);
    }
}

std::vector<std::vector<ProcessPart>> runs_of(std::vector<ProcessPart> parts) {
    std::vector<std::vector<ProcessPart>> runs;
    for (ProcessPart& part : parts) {
        const auto same =
            std::ranges::find_if(runs, [&](const auto& run) { return run.front().run.mark == part.run.mark; });
        if (same == runs.end())
            runs.emplace_back().push_back(std::move(part));
        else
            same->push_back(std::move(part));
    }
    return runs;
}

}  // namespace flameprobe

#include "diff_load.hpp"

#include <algorithm>
#include <set>

#include "inputs.hpp"
#include "loader.hpp"
#include "outside/processes.hpp"

namespace flameprobe {

namespace {

/// Whether all inputs have the mark of one run, and are of several processes: windows of one process are not.
bool are_one_run(const std::vector<std::string>& inputs) {
    std::set<std::string> marks;
    std::set<std::uint32_t> pids;
    for (const std::string& path : inputs) {
        const auto parts = can_be_read_twice(path) ? processes_of(path) : Result<std::vector<ProcessPart>>(Error{});
        if (!parts || parts->empty()) return false;
        marks.insert(parts->front().run.mark);
        pids.insert(parts->front().run.pid);
    }
    return marks.size() == 1 && !marks.begin()->empty() && pids.size() == inputs.size();
}

}  // namespace

Result<DiffSide> load_diff_side(const std::vector<std::string>& inputs, const Arguments& arguments,
                                Progress& progress) {
    Arguments wanted = arguments;
    wanted.filter.times = true;
    std::vector<NamedProfile> runs;
    const auto load = [&](const std::vector<std::string>& paths) -> Result<void> {
        auto run = load_inputs(paths, wanted, progress);
        if (!run) return run.error();
        runs.push_back(std::move(*run));
        return {};
    };
    if (inputs.size() < 2 || are_one_run(inputs)) {
        if (auto loaded = load(inputs); !loaded) return loaded.error();
        return diff_side(std::move(runs));
    }
    wanted.filter.times = false;
    for (std::size_t at = 0; at < inputs.size(); ++at) {
        progress.show("reading profiles", at, inputs.size());
        if (auto loaded = load({inputs[at]}); !loaded) return loaded.error();
    }
    return diff_side(std::move(runs));
}

}  // namespace flameprobe

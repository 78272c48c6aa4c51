#include "diff_load.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/descriptor.hpp"
#include "base/printed.hpp"
#include "export/output_file.hpp"
#include "inputs.hpp"
#include "loader.hpp"
#include "outside/processes.hpp"
#include "run_parts.hpp"
#include "selection.hpp"

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

namespace {

/// A run without a name in the file system. Its path is valid as long as the descriptor is.
struct RunFile {
    Descriptor file{memfd_create("flameprobe-render", MFD_CLOEXEC)};
    std::string path() const { return "/proc/self/fd/" + std::to_string(file.get()); }
};

/// The runs of a `.fprobe` of several; none of any other input.
Result<std::vector<RunFile>> runs_apart(const std::string& input) {
    std::vector<RunFile> files;
    if (!can_be_read_twice(input) || count_processes(input) < 2) return files;
    auto parts = processes_of(input);
    if (!parts) return parts.error();
    const auto runs = runs_of(std::move(*parts));
    if (runs.size() < 2) return files;
    for (const auto& run : runs) {
        RunFile one;
        if (!one.file) return Error{"no memory file: " + error_text(errno)};
        OutputFile copy(one.path());
        auto written = write_processes(run, [&copy](std::string_view piece) { copy.write(piece); });
        if (written) written = copy.commit();
        if (!written) return written.error();
        files.push_back(std::move(one));
    }
    return files;
}

/// Gives threads and processes one name: where some are compared with others, theirs are no difference.
void call_roots_alike(NamedProfile& profile) {
    for (Function& function : profile.functions)
        if (function.kind == FrameKind::thread) function.name = profile.strings.intern("chosen threads");
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
        const SampleFilter& filter = arguments.filter;
        if (filter.others && (filter.from_ns || filter.to_ns) && counts_living(run->run))
            return Error{"what is alive is so at a time: choose two by --to, each for one side"};
        runs.push_back(std::move(*run));
        return {};
    };
    // A merge is the runs that it was made of.
    std::vector<RunFile> apart;
    std::vector<std::string> files;
    for (const std::string& input : inputs) {
        auto of_input = runs_apart(input);
        if (!of_input) return of_input.error();
        if (of_input->empty()) files.push_back(input);
        for (RunFile& run : *of_input) files.push_back(run.path()), apart.push_back(std::move(run));
    }
    if (files.size() < 2 || are_one_run(files)) {
        if (auto loaded = load(files); !loaded) return loaded.error();
        return diff_side(std::move(runs));
    }
    wanted.filter.times = false;
    for (std::size_t at = 0; at < files.size(); ++at) {
        progress.show("reading profiles", at, files.size());
        if (auto loaded = load({files[at]}); !loaded) return loaded.error();
    }
    return diff_side(std::move(runs));
}

Result<LoadedSides> load_diff_sides(const Arguments& arguments) {
    Progress progress;
    LoadedSides loaded;
    for (const SelectedSide& wanted : selected_sides(arguments)) {
        const auto inputs = side_inputs(wanted.arguments.inputs.front());
        if (!inputs) return progress.clear(), inputs.error();
        std::string& name = loaded.sides.empty() ? loaded.names.before : loaded.names.after;
        name = side_name(*inputs) + (wanted.words.empty() ? "" : ", " + wanted.words);
        auto side = load_diff_side(*inputs, wanted.arguments, progress);
        if (!side) return progress.clear(), side.error();
        const SampleFilter& filter = wanted.arguments.filter;
        const bool by_thread = !filter.thread.empty() || filter.pid || !wanted.arguments.process.empty();
        if (by_thread && !wanted.words.empty()) call_roots_alike(side->profile);
        side->of_one_run = arguments.inputs.size() == 1;
        loaded.sides.push_back(std::move(*side));
    }
    progress.clear();
    return loaded;
}

}  // namespace flameprobe

#include "inputs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/paths.hpp"
#include "loader.hpp"
#include "memory_budget.hpp"
#include "outside/processes.hpp"
#include "render/function_totals.hpp"
#include "run_parts.hpp"

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

Result<void> add_input(const std::string& path, std::vector<std::string>& inputs) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
        inputs.push_back(path);
        return {};
    }
    const std::size_t before = inputs.size();
    std::error_code error;
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        if (entry->path().extension() == ".fprobe" && entry->is_regular_file(ignored))
            inputs.push_back(entry->path().string());
    }
    if (error) return Error{path + ": not read: " + error.message()};
    if (inputs.size() == before) return Error{path + ": no .fprobe in this directory"};
    std::sort(inputs.begin() + static_cast<std::ptrdiff_t>(before), inputs.end());
    return {};
}

/// A process that is killed as it creates its file leaves an empty one: no reason to show nothing of the others.
std::vector<std::string> without_empty(const std::vector<std::string>& paths, std::vector<std::string>& empty) {
    std::vector<std::string> others;
    for (const std::string& path : paths) {
        std::error_code unreadable;
        const bool nothing = path.ends_with(".fprobe") && fs::is_regular_file(path, unreadable) &&
                             fs::file_size(path, unreadable) == 0 && !unreadable;
        (nothing ? empty : others).push_back(path);
    }
    if (!others.empty()) return others;
    empty.clear();
    return paths;  // reading them tells
}

std::vector<ProcessPart> parts_of(const std::vector<std::string>& paths) {
    std::vector<ProcessPart> all;
    for (const std::string& path : paths) {
        if (!can_be_read_twice(path)) continue;
        if (auto parts = processes_of(path))
            all.insert(all.end(), std::make_move_iterator(parts->begin()), std::make_move_iterator(parts->end()));
    }
    std::stable_sort(all.begin(), all.end(), [](const ProcessPart& a, const ProcessPart& b) {
        return a.run.start_unix_ns < b.run.start_unix_ns;
    });
    return all;
}

}  // namespace

SymbolizeOptions symbolize_options(const Arguments& arguments, Progress& progress, const std::string& name) {
    SymbolizeOptions options;
    options.debug_directories.insert(options.debug_directories.end(), arguments.debug_directories.begin(),
                                     arguments.debug_directories.end());
    if (const char* list = std::getenv("FLAMEPROBE_DEBUG_DIR"); list != nullptr) {
        for (std::string& directory : directories_of_list(list, "."))
            options.debug_directories.push_back(std::move(directory));
    }
    if (arguments.host_waits) {
        constexpr std::chrono::seconds for_names{15};
        static const auto until = std::chrono::steady_clock::now() + for_names;
        options.deadline = until;
        options.spare_brief_runs = true;
    }
    // One limit for the whole program, for all inputs and files.
    static const auto begin = std::chrono::steady_clock::now();
    if (arguments.debuginfod)
        options.debuginfod_until =
            begin + std::chrono::nanoseconds(std::min<std::uint64_t>(arguments.debuginfod_ns, ns_per_day));
    options.progress = [&progress, name](std::size_t done, std::size_t all) {
        progress.show("naming addresses of " + name, done, all);
    };
    return options;
}

Result<NamedProfile> load_inputs(const std::vector<std::string>& all, const Arguments& arguments, Progress& progress,
                                 const std::vector<ProcessPart>* known) try {
    std::vector<std::string> files, empty;
    for (const std::string& path : all)
        if (auto added = add_input(path, files); !added) return added.error();
    const std::vector<std::string> paths = without_empty(files, empty);
    const bool several_parts = all.size() == 1 && (paths.size() > 1 || count_processes(paths.front()) > 1);
    const auto parts = known != nullptr                  ? *known
                       : several_parts || arguments.tree ? parts_of(paths)
                                                         : std::vector<ProcessPart>();
    const bool is_run =
        known != nullptr ? known->size() > 1 : several_parts && (paths.size() > 1 || runs_of(parts).size() == 1);
    const ProcessNames names(parts);
    const bool several = is_run ? names.count() > 1 : paths.size() > 1 || several_parts;
    const std::vector<ProcessPart> none;
    Loader loader(arguments, progress, several, arguments.tree || (is_run && names.count() > 1) ? &names : nullptr,
                  is_run ? parts : none);
    const SampleFilter& filter = arguments.filter;
    const bool of_all = !filter.pid && arguments.process.empty() && !filter.from_ns && !filter.to_ns &&
                        filter.thread.empty() && filter.scope.empty();
    if (several && of_all) loader.learn_names(paths);
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (paths.size() > 1) progress.show("reading profiles", i, paths.size());
        if (auto added = loader.add(paths[i]); !added) return added.error();
    }
    NamedProfile profile = loader.take();
    if (is_run && !filter.pid && arguments.process.empty()) {
        profile.processes = processes_of_run(parts);
        profile.run.command = parts.front().run.command;  // what was run
    }
    for (const std::string& path : empty)
        profile.warnings.push_back(path + ": left out: is empty; its program may have been killed as it created it");
    if (auto cut = cut_away(profile, arguments.cut); !cut) return cut.error();
    return profile;
} catch (const std::bad_alloc&) {
    return Error{(all.size() == 1 ? all.front() : "these inputs together") + ": " + memory_message()};
}

Result<void> load_other_events(NamedProfile& profile, const std::vector<std::string>& paths, Arguments arguments,
                               Progress& progress, const std::vector<ProcessPart>* known) {
    for (std::size_t i = 1; i < profile.shown_events.size(); ++i) {
        arguments.filter.event = profile.shown_events[i];
        auto other = load_inputs(paths, arguments, progress, known);
        if (!other) return other.error();
        if (total_weight(*other) != 0) profile.others.push_back(std::move(*other));
    }
    return {};
}

void keep_wanted(NamedProfile& profile, const SampleFilter& filter) {
    if (filter.thread.empty() && filter.scope.empty()) return;
    std::vector<bool> of_thread(profile.nodes.size(), filter.thread.empty());
    std::vector<bool> in_scope(profile.nodes.size(), filter.scope.empty());
    const std::string bracketed = "[" + filter.scope + "]";
    for (NodeId id = 1; id < profile.nodes.size(); ++id) {
        const NamedNode& node = profile.nodes[id];
        const std::string_view name = profile.name(node.frame);
        if (of_thread[node.parent] || (node.parent == 0 && name == filter.thread)) of_thread[id] = true;
        if (in_scope[node.parent] || name == bracketed) in_scope[id] = true;
    }
    std::erase_if(profile.counts, [&](const NamedCount& count) {
        return (of_thread[count.node] && in_scope[count.node]) == filter.others;
    });
}

Result<std::vector<std::string>> side_inputs(const std::string& text) {
    std::vector<std::string> inputs;
    std::error_code ignored;
    if (fs::exists(text, ignored)) {  // a name may have a comma in it
        if (auto added = add_input(text, inputs); !added) return added.error();
        return inputs;
    }
    for (const std::string_view name : parts_of_list(text, ',')) {
        if (name.empty()) return Error{"'" + text + "': a name is missing beside a comma"};
        if (auto added = add_input(std::string(name), inputs); !added) return added.error();
    }
    return inputs;
}

std::string side_name(const std::vector<std::string>& inputs) {
    if (inputs.size() == 1) return inputs.front();
    return inputs.front() + " and " + std::to_string(inputs.size() - 1) + " more";
}

}  // namespace flameprobe

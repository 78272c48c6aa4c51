#include "run_pictures.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "attach/refusal.hpp"
#include "base/proc.hpp"
#include "capture/perf_event.hpp"
#include "collect/profile_file.hpp"
#include "inputs.hpp"
#include "outside/processes.hpp"
#include "process_tree.hpp"
#include "profile_pictures.hpp"
#include "render/run_facts.hpp"
#include "render/text.hpp"
#include "results.hpp"
#include "run_check.hpp"
#include "run_words.hpp"
#include "session/output_path.hpp"
#include "session/run_folder.hpp"

namespace flameprobe {

namespace {

/// The processes of this run, without those of another run in the same directory. Normally they are in one file.
std::vector<ProcessPart> processes_of_run(const FinishedRun& run) {
    std::vector<ProcessPart> all;
    for (const std::string& path : find_profiles(run.out, run.start)) {
        auto parts = processes_of(path);
        if (!parts) continue;
        for (ProcessPart& part : *parts)
            if (part.run.mark.starts_with(std::to_string(run.pid) + ":")) all.push_back(std::move(part));
    }
    return all;
}

Summary sum_of(const std::vector<ProcessPart>& parts) {
    Summary sum;
    for (const ProcessPart& part : parts)
        for (const auto field : {&Summary::samples, &Summary::lost, &Summary::rooted})
            sum.*field += part.summary.*field;
    return sum;
}

/// Whether most of what samples do not cover was used by threads that were too brief for more than a few.
bool missed_are_brief(const std::vector<ProcessPart>& parts) {
    constexpr std::uint64_t few_periods = 10;
    std::uint64_t all = 0, of_brief = 0;
    for (const ProcessPart& part : parts) {
        for (const ThreadAccount& thread : part.summary.threads) {
            const std::uint64_t missed = thread.cpu_ns - std::min(thread.cpu_ns, thread.samples);
            all += missed;
            if (thread.cpu_ns * std::max<std::uint64_t>(part.run.frequency_asked, 1) < few_periods * 1'000'000'000)
                of_brief += missed;
        }
    }
    return of_brief > all / 2;
}

std::string table_of(const std::vector<ProcessPart>& parts) {
    const ProcessNames names(parts);
    std::vector<ProcessShare> shares;
    for (const ProcessPart& part : parts)
        shares.push_back(
            {names.name(part.run), part.run.pid, time_of(part.run, part.summary, part.weight), part.weight, part.hits});
    return process_table(by_process(shares));
}

bool is_of_run(const std::string& path, const timespec& start) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && !is_later(start, status.st_mtim);
}

/// The page first.
std::vector<Format> in_order(std::vector<Format> formats) {
    const auto rank = [](Format format) { return format == Format::html ? 0 : format == Format::svg ? 1 : 2; };
    std::stable_sort(formats.begin(), formats.end(), [&](Format a, Format b) { return rank(a) < rank(b); });
    return formats;
}

void take_problems(const ResultMessages& messages, RunEnd& end) {
    end.lines.insert(end.lines.end(), messages.problems.begin(), messages.problems.end());
    end.lost = end.lost || messages.failed;
}

/// The pictures of a profile, of which those that are missing are drawn: the library was told not to. All of them if
/// they are `old`.
std::vector<std::string> pictures_of(const std::string& profile, const FinishedRun& run, bool old, RunEnd& end) {
    const std::string stem = profile.substr(0, profile.size() - std::string_view(".fprobe").size());
    std::vector<std::string> paths;
    std::vector<Format> missing;
    for (const Format format : in_order(run.formats)) {
        const std::string path = stem + std::string(ending_of(format));
        is_of_run(path, run.start) && !run.draw && !old ? paths.push_back(path) : missing.push_back(format);
    }
    if (missing.empty()) return paths;
    ResultMessages messages;
    draw_profile(profile, stem, {missing, run.look}, messages);
    // Where the library has drawn, and said what it could not write, that is not said again.
    if (run.told && !run.draw && !old && is_of_run(stem + ".txt", run.start)) messages.problems.clear();
    take_problems(messages, end);
    std::vector<std::string> drawn;
    for (const Format format : missing) {
        const std::string path = stem + std::string(ending_of(format));
        if (std::find(messages.wrote.begin(), messages.wrote.end(), path) != messages.wrote.end())
            drawn.push_back(path);
    }
    drawn.insert(drawn.end(), paths.begin(), paths.end());
    return drawn;
}

/// The profiles that the run's processes could not write themselves, since they were killed. They have no pictures yet.
std::vector<std::string> write_what_is_left(const FinishedRun& run, RunEnd& end) {
    std::vector<std::string> profiles;
    const std::string mark = std::to_string(run.pid) + ":";
    for (const std::string& folder : find_folders(run.out, run.start)) {
        if (!mark_in_run(folder).starts_with(mark)) continue;
        take_problems(write_run_result(folder, {}), end);
        profiles.push_back(folder.substr(0, folder.rfind(".run")) + ".fprobe");
    }
    return profiles;
}

constexpr std::uint64_t too_little_ns = 20'000'000;

/// Why nothing can be written where the results are to be; of a command its library tells it.
std::string lost_place(const FinishedRun& run) {
    return run.target != 0 ? place_problem(run.out, "", {}) : std::string();
}

/// Why there is none: one cause where it is known.
std::string no_picture(const FinishedRun& run) {
    if (!run.spool.empty() && !find_profiles(finished_pattern(run.spool), run.start).empty())
        return "windows are left in " + run.spool + ": flameprobe push --spool " + run.spool + " --to URL sends them";
    const std::string none = run.spool.empty() ? "no picture: " : "no window in " + run.spool + ": ";
    if (run.obstacle) return none + "the command could not be sampled";
    const std::string who = run.target != 0 ? "the process" : "the command";
    if (const std::string problem = lost_place(run); !problem.empty()) return "no results: " + problem;
    if (run.cpu_ns < too_little_ns)
        return none + who + " used " + duration_text(run.cpu_ns) +
               " of CPU time, too little to be sampled; -F 9999 samples more often, --event cpu,offcpu shows waits";
    if (run.target != 0) {
        const std::string why = what_it_executes(run.target);
        return "no picture: " + (why.empty() ? "no samples were kept of the process" : why);
    }
    return none +
           "the command took no samples (the library said why not, or its programs are static, set-user-ID or started "
           "without LD_PRELOAD: flameprobe doctor PROGRAM)";
}

/// "x.offcpu.svg" beside "x.svg" or "x.html", which the library writes for each further event.
std::vector<std::string> pictures_of_other_events(const std::vector<std::string>& paths, const timespec& start) {
    std::vector<std::string> events = {"offcpu", "wall", "tasks", "alloc", "heap", "heap-end"}, others;
    for (const EventName& event : known_events) events.emplace_back(event.name);
    for (const std::string& path : paths) {
        if (!path.ends_with(".svg") && (paths.size() > 1 || !path.ends_with(".html"))) continue;
        const std::string stem = path.substr(0, path.rfind('.'));
        for (const std::string& event : events)
            if (const std::string other = stem + "." + event + ".svg"; is_of_run(other, start)) others.push_back(other);
    }
    return others;
}

/// The lines of the provenance beside the picture whose key begins so, with what of the key follows if `with_key`.
std::vector<std::string> lines_of_provenance(const std::string& stem, const std::string& key, bool with_key = false) {
    std::vector<std::string> found;
    std::istringstream lines(read_small_file((stem + ".txt").c_str()).value_or(""));
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t colon = line.find(": "); line.starts_with(key) && colon != line.npos)
            found.push_back(line.substr(with_key ? key.size() : colon + 2));
    return found;
}

/// The answer of each event, which was computed as the picture was drawn, and what would make the picture better.
std::vector<std::string> words_of(const std::string& picture, const FinishedRun& run, std::uint64_t samples,
                                  bool brief) {
    const std::string stem = picture.substr(0, picture.rfind('.')), folded = stem + ".folded";
    std::vector<std::string> lines;
    if (is_of_run(stem + ".txt", run.start)) {
        lines = lines_of_provenance(stem, "answer");
        constexpr std::size_t most = 3;  // labels, those with the most requests
        const auto requests = lines_of_provenance(stem, "request ", true);
        lines.insert(lines.end(), requests.begin(), requests.begin() + std::min(requests.size(), most));
    }
    std::error_code unreadable;
    constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;
    if (!is_of_run(folded, run.start) || std::filesystem::file_size(folded, unreadable) > most_bytes || unreadable)
        return lines;
    Progress progress;
    const auto profile = load_inputs({folded}, Arguments(), progress);
    progress.clear();
    if (!profile) return lines;
    const auto names = lines_of_provenance(stem, "names: ");
    lines.push_back(what_would_be_better(*profile, samples, names.empty() ? "" : names.front(), brief));
    std::erase(lines, "");
    return lines;
}

}  // namespace

RunEnd end_run(const FinishedRun& run) {
    RunEnd end;
    const std::vector<std::string> written = write_what_is_left(run, end);
    const std::vector<ProcessPart> parts = processes_of_run(run);
    const Summary sum = sum_of(parts);
    std::uint64_t samples = 0;
    std::vector<std::string> files;
    for (const ProcessPart& part : parts) {
        samples += part.hits;
        if (std::find(files.begin(), files.end(), part.path) == files.end()) files.push_back(part.path);
    }
    if (const auto failed = failed_gate(run.gates, samples, &sum); !failed.empty()) {
        end.passed = false;
        end.lines.push_back(failed + "; no picture was made" +
                            (files.empty() ? "" : ", the profile is in " + files.front()));
        return end;
    }
    std::vector<std::string> paths;
    for (const std::string& file : files) {
        if (run.formats.empty() || samples == 0) break;
        const bool old = std::find(written.begin(), written.end(), file) != written.end();
        const auto pictures = pictures_of(file, run, old, end);
        paths.insert(paths.end(), pictures.begin(), pictures.end());
    }
    if (ProcessNames(parts).count() > 1) {
        std::string table = table_of(parts);
        for (std::size_t line = 0; (line = table.find('\n')) != table.npos; table.erase(0, line + 1))
            end.lines.push_back(table.substr(0, line));
    }
    const FoundResults found = find_results(run.out, run.pid, run.start);
    if (paths.empty() && !found.best.empty()) paths.push_back(found.best);
    const bool only_profile = !paths.empty() && paths.front().ends_with(".fprobe");
    if (paths.empty() || (samples == 0 && only_profile)) end.lines.push_back(no_picture(run));
    if (paths.empty() && !lost_place(run).empty()) end.lost = true;
    if (run.cpu_ns >= too_little_ns && (paths.empty() || (only_profile && !run.formats.empty()))) end.lost = true;
    if (!paths.empty())
        for (std::string& line : words_of(paths.front(), run, samples, missed_are_brief(parts)))
            end.lines.push_back(std::move(line));
    const std::vector<std::string> others = pictures_of_other_events(paths, run.start);
    paths.insert(paths.end(), others.begin(), others.end());
    for (const std::string& path : paths) {
        const bool picture = path.ends_with(".html") || path.ends_with(".svg");
        if (picture && end.picture.empty()) end.picture = path;
        if (picture || paths.size() == 1) end.lines.push_back(path);
    }
    return end;
}

}  // namespace flameprobe

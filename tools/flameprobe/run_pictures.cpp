#include "run_pictures.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "export/output.hpp"
#include "export/output_file.hpp"
#include "export/provenance_text.hpp"
#include "inputs.hpp"
#include "process_tree.hpp"
#include "profile/reader.hpp"
#include "render/numbers.hpp"
#include "render/run_facts.hpp"
#include "results.hpp"
#include "run_check.hpp"
#include "run_words.hpp"
#include "session/results.hpp"

namespace flameprobe {

namespace {

/// The facts of one profile.
struct Found {
    std::string path;
    RunInfo run;
    Summary summary;
    std::uint64_t hits = 0;
    std::string stem() const { return path.substr(0, path.size() - std::string_view(".fprobe").size()); }
};

class FactsOnly final : public PartialSink {
public:
    explicit FactsOnly(Found& into) : into_(into) {}
    void run(const RunInfo& info) override { into_.run = info; }
    void sample(const Sample& sample) override { into_.hits = add_saturated(into_.hits, sample.hits); }
    void summary(const Summary& summary) override { into_.summary = summary; }

private:
    Found& into_;
};

/// The profiles of this run, without those of another run in the same directory.
std::vector<Found> profiles_of(const FinishedRun& run) {
    std::vector<Found> profiles;
    for (const std::string& path : find_profiles(run.out, run.start)) {
        Found found{path, {}, {}, 0};
        FactsOnly facts(found);
        if (!read_profile(path, facts)) continue;
        const auto root = found.summary.counters.find(std::string(counter::root_pid));
        if (root != found.summary.counters.end() && root->second == static_cast<std::uint64_t>(run.pid))
            profiles.push_back(std::move(found));
    }
    return profiles;
}

Summary sum_of(const std::vector<Found>& profiles) {
    Summary sum;
    for (const Found& profile : profiles) {
        for (const auto field : {&Summary::samples, &Summary::lost, &Summary::rooted})
            sum.*field += profile.summary.*field;
    }
    return sum;
}

std::size_t count_processes(const std::vector<Found>& profiles) {
    std::set<std::pair<std::uint32_t, std::string>> processes;
    for (const Found& profile : profiles) processes.emplace(profile.run.pid, program_name(profile.run));
    return processes.size();
}

bool is_of_run(const std::string& path, const timespec& start) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && !is_later(start, status.st_mtim);
}

class PictureWriter {
public:
    explicit PictureWriter(const FinishedRun& run) : run_(run) {}

    /// The paths of the pictures of one process, drawn if they are missing: the library does not write them for few
    /// samples, or if it was told not to, or was killed.
    std::vector<std::string> draw(const Found& profile);
    /// The paths of the pictures of all processes together, which are drawn.
    std::vector<std::string> draw_tree(const std::vector<Found>& profiles);
    std::vector<std::string> lines;

private:
    std::vector<std::string> write(const NamedProfile& profile, const std::string& stem, std::vector<Format> formats,
                                   const OutputOptions& options);

    void write_provenance(const NamedProfile& profile, const std::string& stem);

    const FinishedRun& run_;
    Progress progress_;
};

/// The page first.
std::vector<Format> in_order(std::vector<Format> formats) {
    const auto rank = [](Format format) { return format == Format::html ? 0 : format == Format::svg ? 1 : 2; };
    std::stable_sort(formats.begin(), formats.end(), [&](Format a, Format b) { return rank(a) < rank(b); });
    return formats;
}

std::vector<std::string> PictureWriter::write(const NamedProfile& profile, const std::string& stem,
                                              std::vector<Format> formats, const OutputOptions& options) {
    std::vector<std::string> paths;
    for (const Format format : formats) {
        const std::string path = stem + std::string(ending_of(format));
        if (const auto written = write_output(profile, format, path, options); written) {
            paths.push_back(path);
        } else {
            lines.push_back(written.error().message);
        }
    }
    return paths;
}

void PictureWriter::write_provenance(const NamedProfile& profile, const std::string& stem) {
    OutputFile file(stem + ".txt");
    if (!file.failed()) file.write(provenance_text(profile));
    if (const auto written = file.commit(); !written) lines.push_back(written.error().message);
}

std::vector<std::string> PictureWriter::draw(const Found& profile) {
    std::vector<std::string> paths;
    std::vector<Format> missing;
    for (const Format format : in_order(run_.formats)) {
        const std::string path = profile.stem() + std::string(ending_of(format));
        is_of_run(path, run_.start) && !run_.draw ? paths.push_back(path) : missing.push_back(format);
    }
    if (missing.empty()) return paths;
    const Arguments arguments;
    auto named = load_inputs({profile.path}, arguments, progress_);
    progress_.clear();
    if (!named) return lines.push_back(named.error().message), paths;
    auto drawn = write(*named, profile.stem(), missing, {});
    if (missing.front() == Format::html || missing.front() == Format::svg) write_provenance(*named, profile.stem());
    drawn.insert(drawn.end(), paths.begin(), paths.end());
    return drawn;
}

std::vector<std::string> PictureWriter::draw_tree(const std::vector<Found>& profiles) {
    Arguments arguments;
    arguments.tree = true;
    std::vector<std::string> paths;
    for (const Found& profile : profiles) paths.push_back(profile.path);
    std::vector<ProcessShare> shares;
    auto named = load_inputs(paths, arguments, progress_, &shares);
    progress_.clear();
    if (!named) return lines.push_back(named.error().message), std::vector<std::string>();
    std::vector<Format> formats = {Format::html, Format::svg, Format::folded};
    for (const Format format : run_.formats) {
        if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
    }
    OutputOptions options;
    const std::string name = std::filesystem::path(run_.command).filename();
    options.graph.title =
        "CPU flame graph of " + name + ", " + std::to_string(flameprobe::count_processes(shares)) + " processes";
    const std::string stem = expanded_out(run_.out, run_.command, run_.pid, run_.start.tv_sec) + ".all";
    const OlderResults older{run_.out.find("%p") != std::string::npos, run_.start};
    const std::string unused = unused_stem(stem, formats, older);
    auto drawn = write(*named, unused, formats, options);
    write_provenance(*named, unused);
    std::string table = process_table(shares);
    for (std::size_t end = 0; (end = table.find('\n')) != table.npos; table.erase(0, end + 1))
        lines.push_back(table.substr(0, end));
    return drawn;
}

/// Why there is none: one cause where it is known.
std::string no_picture(const FinishedRun& run) {
    constexpr std::uint64_t too_little_ns = 20'000'000;
    if (!run.spool.empty())
        return "windows are left in " + run.spool + ": flameprobe push --spool " + run.spool + " --to URL sends them";
    if (run.obstacle) return "no picture: the command could not be sampled";
    if (run.cpu_ns < too_little_ns)
        return "no picture: the command used " + duration_text(run.cpu_ns) +
               " of CPU time, too little to be sampled; -F 9999 samples more often, --event cpu,offcpu shows waits";
    return "no picture: the command took no samples (the library said why not, or its programs are static, set-user-ID "
           "or "
           "started without LD_PRELOAD: flameprobe doctor PROGRAM)";
}

/// "x.offcpu.svg" beside "x.svg", which the library writes for each further event.
std::vector<std::string> pictures_of_other_events(const std::vector<std::string>& paths, const timespec& start) {
    std::vector<std::string> others;
    for (const std::string& path : paths) {
        if (!path.ends_with(".svg")) continue;
        const std::string stem = path.substr(0, path.size() - 4);
        for (const char* event : {"offcpu", "wall", "page-faults"}) {
            const std::string other = stem + "." + event + ".svg";
            if (is_of_run(other, start)) others.push_back(other);
        }
    }
    return others;
}

/// Of the folded text beside the picture, which has the names already; nothing where there is none.
std::string words_of(const std::string& picture, const timespec& start) {
    const std::string folded = picture.substr(0, picture.rfind('.')) + ".folded";
    std::error_code unreadable;
    constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;
    if (!is_of_run(folded, start) || std::filesystem::file_size(folded, unreadable) > most_bytes || unreadable)
        return {};
    Progress progress;
    const auto profile = load_inputs({folded}, Arguments(), progress);
    progress.clear();
    return profile ? where_the_time_went(*profile) : "";
}

}  // namespace

RunEnd end_run(const FinishedRun& run) {
    RunEnd end;
    const std::vector<Found> profiles = profiles_of(run);
    const Summary sum = sum_of(profiles);
    std::uint64_t samples = 0;
    for (const Found& profile : profiles) samples += profile.hits;
    if (const auto failed = failed_gate(run.gates, samples, &sum); !failed.empty()) {
        end.passed = false;
        end.lines.push_back(failed + "; no picture was made" +
                            (profiles.empty() ? "" : ", the profile is in " + profiles.front().path));
        return end;
    }
    PictureWriter writer(run);
    std::vector<std::string> paths;
    if (!run.formats.empty() && samples != 0) {
        const bool tree = count_processes(profiles) > 1;
        for (const Found& profile : profiles) {
            if (!tree || run.draw) paths = writer.draw(profile);
        }
        if (tree) paths = writer.draw_tree(profiles);
    }
    end.lines = std::move(writer.lines);
    const FoundResults found = find_results(run.out, run.pid, run.start);
    if (paths.empty() && !found.best.empty()) paths.push_back(found.best);
    if (paths.empty() || (samples == 0 && paths.front().ends_with(".fprobe"))) end.lines.push_back(no_picture(run));
    if (!paths.empty()) {
        if (std::string words = words_of(paths.front(), run.start); !words.empty())
            end.lines.push_back(std::move(words));
    }
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

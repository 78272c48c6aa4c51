#include "session/results.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/host_process.hpp"
#include "export/output_file.hpp"
#include "export/provenance_text.hpp"
#include "session/progress_line.hpp"
#include "symbolize/live_image.hpp"
#include "symbolize/load.hpp"

namespace flameprobe {
namespace {

// How long the host's end may be held up for line numbers and inlined functions.
constexpr std::chrono::seconds time_for_names{15};
// Work that ends sooner shows no progress.
constexpr std::chrono::seconds quiet_time{1};

/// The provenance, beside the picture.
void write_provenance(const NamedProfile& profile, const std::string& path, Written& written) {
    OutputFile file(path);
    if (!file.failed()) file.write(provenance_text(profile));
    if (auto done = file.commit(); !done) written.problems.push_back(done.error().message);
}

}  // namespace

std::string unused_stem(const std::string& stem, const std::vector<Format>& formats, const OlderResults& older) {
    const auto in_use = [&](const std::string& candidate) {
        return std::any_of(formats.begin(), formats.end(), [&](Format format) {
            struct stat found {};
            const std::string path = candidate + std::string(ending_of(format));
            return ::lstat(path.c_str(), &found) == 0 && (older.keep || is_later(found.st_mtim, older.run_start));
        });
    };
    std::string candidate = stem;
    for (unsigned number = 2; in_use(candidate) && number < 100000; ++number)
        candidate = stem + "." + std::to_string(number);
    return candidate;
}

Written write_results(const std::string& profile_path, const std::string& stem, const Options& options,
                      unsigned workers, const std::function<void()>& alive, Descriptor terminal) {
    Written written;
    if (options.formats.empty()) return written;
    SymbolizeOptions symbols;
    symbols.workers = workers;
    symbols.deadline = std::chrono::steady_clock::now() + time_for_names;
    symbols.debug_directories.insert(symbols.debug_directories.end(), options.debug_directories.begin(),
                                     options.debug_directories.end());
    symbols.pid = static_cast<std::uint32_t>(host_process());
    symbols.spare_brief_runs = true;
    symbols.read_image = read_live_image;  // files that were deleted, memfds
    ProgressLine line(std::move(terminal), quiet_time);
    symbols.progress = [&](std::size_t done, std::size_t all) {
        alive();
        line.show(done, all);
    };
    SampleFilter wanted;
    wanted.times = std::find(options.formats.begin(), options.formats.end(), Format::html) != options.formats.end();
    auto profile = load_all_events(profile_path, wanted, symbols);
    line.clear();
    if (!profile) {
        written.problems.push_back(profile.error().message);
        return written;
    }
    for (const auto& warning : profile->warnings) written.problems.push_back(warning);
    const auto write = [&](const NamedProfile& event, Format format, const std::string& path) {
        if (auto done = write_output(event, format, path, {}); done)
            written.paths.push_back(path);
        else
            written.problems.push_back(done.error().message + " (the samples are safe in " + profile_path + ")");
        alive();
    };
    for (const Format format : options.formats) {
        const std::string ending(ending_of(format));
        write(*profile, format, stem + ending);
        if (holds_all_events(format)) continue;
        for (const NamedProfile& other : profile->others) write(other, format, stem + '.' + other.run.event + ending);
    }
    const bool pictures = std::any_of(options.formats.begin(), options.formats.end(),
                                      [](Format format) { return format == Format::svg || format == Format::html; });
    if (pictures && !written.paths.empty()) write_provenance(*profile, stem + ".txt", written);
    return written;
}

}  // namespace flameprobe

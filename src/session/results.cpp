#include "session/results.hpp"

#include <unistd.h>

#include <chrono>

#include "symbolize/live_image.hpp"
#include "symbolize/load.hpp"

namespace flameprobe {
namespace {

// How long the host's end may be held up for line numbers and inlined functions.
constexpr std::chrono::seconds time_for_names{15};

}  // namespace

Written write_results(const std::string& profile_path, const std::string& stem, const std::vector<Format>& formats,
                      const std::function<void()>& alive) {
    Written written;
    if (formats.empty()) return written;
    SymbolizeOptions symbols;
    symbols.deadline = std::chrono::steady_clock::now() + time_for_names;
    symbols.pid = static_cast<std::uint32_t>(::getpid());
    symbols.read_image = read_live_image;  // files that were deleted, memfds
    symbols.progress = [&](std::size_t, std::size_t) { alive(); };
    auto profile = load_profile(profile_path, {}, symbols);
    if (!profile) {
        written.problems.push_back(profile.error().message);
        return written;
    }
    for (const auto& warning : profile->warnings) written.problems.push_back(warning);
    for (const Format format : formats) {
        const std::string path = stem + std::string(ending_of(format));
        if (auto done = write_output(*profile, format, path, {}); done)
            written.paths.push_back(path);
        else
            written.problems.push_back(done.error().message + " (the samples are safe in " + profile_path + ")");
        alive();
    }
    return written;
}

}  // namespace flameprobe

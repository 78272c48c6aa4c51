#include "short_recording.hpp"

#include <stdlib.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "../live/profile_of_process.hpp"
#include "refusal.hpp"

namespace flameprobe {

Result<std::optional<Recorder>> record_for_now(pid_t pid) {
    if (profile_of_process(pid)) return std::optional<Recorder>();
    if (std::string why = why_not_attached(pid, false); !why.empty()) return Error{std::move(why)};
    std::error_code failed;
    std::string directory = std::filesystem::temp_directory_path(failed) / "flameprobe-look-XXXXXX";
    if (failed || ::mkdtemp(directory.data()) == nullptr)
        return Error{directory + ": no temporary directory: " + (failed ? failed.message() : strerrordesc_np(errno))};
    AttachSettings settings;
    settings.options.engine = EngineChoice::ring;
    settings.options.out = directory + "/now";
    settings.options.formats.clear();
    settings.directory = directory;
    ::clock_gettime(CLOCK_REALTIME_COARSE, &settings.start);
    auto recorder = Recorder::start(pid, settings);
    if (!recorder) return recorder.error();
    return std::optional<Recorder>(std::move(*recorder));
}

}  // namespace flameprobe

#include "short_recording.hpp"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "../live/profile_of_process.hpp"
#include "base/output_directory.hpp"
#include "base/result.hpp"
#include "refusal.hpp"

namespace flameprobe {

namespace {

Error no_room(const std::string& directory, const std::string& why) {
    return Error{directory + ": no temporary files can be made: " + why +
                 "; TMPDIR=DIRECTORY chooses one that can be written"};
}

}  // namespace

Result<std::optional<Recorder>> record_for_now(pid_t pid) {
    if (profile_of_process(pid)) return std::optional<Recorder>();
    if (std::string why = why_not_attached(pid, false); !why.empty()) return Error{std::move(why)};
    std::error_code failed;
    std::string directory = std::filesystem::temp_directory_path(failed) / "flameprobe-look-XXXXXX";
    if (failed || ::mkdtemp(directory.data()) == nullptr)
        return no_room(failed ? "TMPDIR" : directory, failed ? failed.message() : error_text(errno));
    const auto inside = OutputDirectory::of(directory + "/");
    if (const int error = inside ? inside->failure_to_write() : EACCES; error != 0) {
        ::rmdir(directory.c_str());
        return no_room(directory, error_text(error));
    }
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

#include "profile_of_process.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/proc.hpp"
#include "profile/reader.hpp"

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

/// Reads up to the run's facts, which are in the first block.
class PidReader final : public PartialSink {
public:
    void run(const RunInfo& info) override { pid = info.pid; }
    std::uint32_t pid = 0;
};

std::set<std::string> open_profiles(const fs::path& task) {
    std::set<std::string> profiles;
    std::error_code error;
    for (fs::directory_iterator fd(task / "fd", error), end; !error && fd != end; fd.increment(error)) {
        std::error_code gone;
        const std::string path = fs::read_symlink(fd->path(), gone).string();
        if (!gone && path.ends_with(".fprobe")) profiles.insert(path);
    }
    return profiles;
}

std::string profile_among(const fs::path& process, pid_t pid) {
    std::error_code error;
    for (fs::directory_iterator task(process / "task", error), end; !error && task != end; task.increment(error)) {
        for (const std::string& path : open_profiles(task->path())) {
            PidReader reader;
            if (read_profile(path, reader) && reader.pid == static_cast<std::uint32_t>(pid)) return path;
        }
    }
    return {};
}

/// Whether a process is a collector: with the ring engine it is a task beside the host (src/session/task.hpp), with
/// this name.
bool is_collector(const fs::path& process) {
    std::string name;
    std::ifstream(process / "comm") >> name;
    return name == "flameprobe";
}

}  // namespace

bool is_running(pid_t pid) {
    const auto stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    const std::string_view state = stat ? stat_field(*stat, 3) : "";
    return !state.empty() && state != "Z" && state != "X";
}

Result<std::string> profile_of_process(pid_t pid) {
    const std::string number = std::to_string(pid);
    if (!is_running(pid)) return Error{"there is no process " + number};
    if (std::string path = profile_among("/proc/" + number, pid); !path.empty()) return path;
    std::error_code error;
    for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (name.find_first_not_of("0123456789") != name.npos || !is_collector(entry->path())) continue;
        if (std::string path = profile_among(entry->path(), pid); !path.empty()) return path;
    }
    return Error{"process " + number + " is not being profiled, or not by this user: start it with 'flameprobe run'" +
                 (geteuid() != 0 ? ", or ask as its user" : "")};
}

}  // namespace flameprobe

#include "profile_of_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/proc.hpp"
#include "base/regular_file.hpp"
#include "outside/reader.hpp"

namespace flameprobe {

namespace {

namespace fs = std::filesystem;

/// Reads a file that is open from its start, without its path. One reader at a time.
ByteSource source_of(const Descriptor& file, const std::string& name) {
    Descriptor again(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
    ::lseek(again.get(), 0, SEEK_SET);
    return ByteSource(std::move(again), name);
}

/// Reads up to the run's facts, which are in the first block.
class PidReader final : public PartialSink {
public:
    void run(const RunInfo& info) override { pid = info.pid; }
    std::uint32_t pid = 0;
};

/// Users who could change the process as they like anyway.
struct Believed {
    bool contains(uid_t user) const { return user == 0 || user == process || user == ::geteuid(); }
    uid_t process;
};

bool is_believed(const struct stat& file, const Believed& believed) {
    return S_ISREG(file.st_mode) && (file.st_mode & S_IWOTH) == 0 && believed.contains(file.st_uid);
}

/// Opens what `entry` in a /proc/PID/fd stands for, if it is a profile of `pid`.
Descriptor open_if_profile(const fs::path& entry, pid_t pid, const Believed& believed) {
    const FoundFile found(entry.string());
    Descriptor file = found && is_believed(found.status(), believed) ? found.open() : Descriptor();
    if (!file) return {};
    ByteSource source = source_of(file, entry.string());
    PidReader reader;
    if (!read_profile(source, reader) || reader.pid != static_cast<std::uint32_t>(pid)) return {};
    return file;
}

std::optional<OpenProfile> profile_in(const fs::path& task, pid_t pid, const Believed& believed) {
    std::error_code error;
    std::set<std::string> seen;
    for (fs::directory_iterator fd(task / "fd", error), end; !error && fd != end; fd.increment(error)) {
        std::error_code gone;
        // Those who only look on, as this process, have it open to read.
        if ((fd->symlink_status(gone).permissions() & fs::perms::owner_write) == fs::perms::none) continue;
        const std::string path = fs::read_symlink(fd->path(), gone).string();
        if (gone || !path.ends_with(".fprobe") || !seen.insert(path).second) continue;
        if (Descriptor file = open_if_profile(fd->path(), pid, believed)) return OpenProfile{path, std::move(file)};
    }
    return std::nullopt;
}

/// Whether a task is a collector, by its name: a thread of the host, or a task beside it (src/session/task.hpp).
bool is_collector(const fs::path& task) {
    std::string name;
    std::ifstream(task / "comm") >> name;
    return name == "flameprobe";
}

/// Of a collector that is a thread: it may have descriptors of its own. The others' are not read, as there may be
/// thousands of threads, with thousands of descriptors that they share.
std::optional<OpenProfile> profile_of_threads(const fs::path& process, pid_t pid, const Believed& believed) {
    for (const pid_t tid : numbers_in(process / "task")) {
        const fs::path task = process / "task" / std::to_string(tid);
        if (!is_collector(task)) continue;
        if (auto found = profile_in(task, pid, believed)) return found;
    }
    return std::nullopt;
}

}  // namespace

ByteSource OpenProfile::from_start() const { return source_of(file, path); }

Result<OpenProfile> profile_of_process(pid_t pid) {
    const std::string number = std::to_string(pid);
    const fs::path process = "/proc/" + number;
    const auto user = effective_user_of(process.string());
    if (!is_running(pid) || !user) return Error{"there is no process " + number};
    const Believed believed{*user};
    if (auto found = profile_of_threads(process, pid, believed)) return std::move(*found);
    for (const pid_t other : numbers_in("/proc")) {
        const fs::path collector = "/proc/" + std::to_string(other);
        const auto its_user = is_collector(collector) ? effective_user_of(collector.string()) : std::nullopt;
        if (!its_user || !believed.contains(*its_user)) continue;
        if (auto found = profile_in(collector, pid, believed)) return std::move(*found);
    }
    return Error{"process " + number + " is not being profiled, or not by this user: start it with 'flameprobe run'" +
                 (geteuid() != 0 ? ", or ask as its user" : "")};
}

}  // namespace flameprobe

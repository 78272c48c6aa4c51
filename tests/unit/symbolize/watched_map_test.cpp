// Maps of code made at run time, of a process that is watched from outside (base/host_process.hpp).
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/host_process.hpp"
#include "symbolize/perf_map.hpp"

using namespace flameprobe;

namespace {

constexpr const char* line = "1000 100 ";

/// A process that waits, once it has done `first`.
class Other {
public:
    explicit Other(const std::function<bool()>& first) {
        int ready[2] = {};
        if (::pipe(ready) != 0) return;
        pid = ::fork();
        if (pid == 0) {
            const bool done = first();
            if (::write(ready[1], done ? "y" : "n", 1) != 1) ::_exit(1);
            for (;;) ::pause();
        }
        char answer = 'n';
        prepared = ::read(ready[0], &answer, 1) == 1 && answer == 'y';
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Other() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    pid_t pid = -1;
    bool prepared = false;
};

/// The name, or else the warning, that who watches `pid` has of the code.
std::string seen_of(pid_t pid) {
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    const pid_t watcher = ::fork();
    if (watcher == 0) {
        watch_process(pid);
        std::vector<std::string> warnings;
        const PerfMap map = PerfMap::of_process(static_cast<std::uint32_t>(pid), {}, warnings);
        std::string told(map.find(0x1000));
        for (const std::string& warning : warnings) told += warning.substr(warning.rfind(", since ") + 2);
        ::_exit(::write(ends[1], told.data(), told.size()) < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    char text[200];
    const ssize_t got = ::read(ends[0], text, sizeof text);
    ::close(ends[0]);
    ::waitpid(watcher, nullptr, 0);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// /tmp/perf-PID.map below a root.
struct MapFile {
    MapFile(const std::string& root, pid_t pid, const std::string& name)
        : path(root + "/tmp/perf-" + std::to_string(pid) + ".map") {
        std::ofstream(path) << line << name << "\n";
    }
    ~MapFile() { ::unlink(path.c_str()); }
    std::string path;
};

}  // namespace

TEST_CASE("the map of a process that is watched is its own user's or root's") {
    const Other other([] { return true; });
    const MapFile map("", other.pid, "work");
    CHECK(seen_of(other.pid) == "work");
    if (::geteuid() != 0) return;
    const Other users([] { return ::setresuid(65534, 65534, 65534) == 0; });
    const MapFile of_user("", users.pid, "users work");
    CHECK(seen_of(users.pid) == "users work");  // root's
    for (const auto& [file, expected] :
         {std::pair{&map, "since it belongs to another user"}, {&of_user, "users work"}}) {
        REQUIRE(::chown(file->path.c_str(), 65534, 65534) == 0);
        CHECK(seen_of(file == &map ? other.pid : users.pid) == expected);
    }
    REQUIRE(::chown(of_user.path.c_str(), 65533, 65533) == 0);
    CHECK(seen_of(users.pid) == "since it belongs to another user");
}

TEST_CASE("a map in our root is not that of a process with another root") {
    if (::geteuid() != 0) return;
    char root[] = "/tmp/watched-root-XXXXXX";
    REQUIRE(::mkdtemp(root) != nullptr);
    REQUIRE(::mkdir((std::string(root) + "/tmp").c_str(), 0700) == 0);
    {
        const Other other([&] { return ::chroot(root) == 0 && ::chdir("/") == 0; });
        REQUIRE(other.prepared);
        const MapFile ours("", other.pid, "of another process");
        CHECK(seen_of(other.pid) == "");
        const MapFile its_own(root, other.pid, "work");
        CHECK(seen_of(other.pid) == "work");
    }
    std::filesystem::remove_all(root);
}

TEST_CASE("a FIFO in place of a map is not opened") {
    const Other other([] { return true; });
    const std::string path = "/tmp/perf-" + std::to_string(other.pid) + ".map";
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const Descriptor opens(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    REQUIRE(::inotify_add_watch(opens.get(), path.c_str(), IN_OPEN) >= 0);
    CHECK(seen_of(other.pid) == "since it is no regular file");
    std::vector<std::string> warnings;
    CHECK_FALSE(open_trusted(path, warnings));
    CHECK_FALSE(FileBytes::open(path));
    inotify_event event;
    CHECK(::read(opens.get(), &event, sizeof event) < 0);
    ::unlink(path.c_str());
}

// They are kept in memory, by root of anybody's process.
TEST_CASE("of too many names the last are kept, and the rest are told") {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const MapFile map("", ::getpid(), "the oldest");
    {
        std::ofstream more(map.path, std::ios::app);
        for (int i = 0; i < (1 << 20) - 1; ++i) more << "1 1 a\n";
        more << "2000 100 the newest\n";
    }
    std::vector<std::string> warnings;
    const PerfMap read = PerfMap::of_process(pid, {}, warnings);
    CHECK(read.find(0x1000).empty());
    CHECK(read.find(0x2000) == "the newest");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(": only the last of its names are read") != std::string::npos);

    std::ofstream(map.path) << "1000 100 all\n2000 100 of them\n";
    warnings.clear();
    CHECK(PerfMap::of_process(pid, {}, warnings).find(0x1000) == "all");
    CHECK(warnings.empty());
}

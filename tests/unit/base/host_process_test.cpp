#include "base/host_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <thread>

#include "base/proc.hpp"
#include "base/proc_maps.hpp"
#include "base/regular_file.hpp"
#include "base/self_memory.hpp"

namespace {

using namespace flameprobe;

char where[] = "at home";

/// The exit status of a child that runs `code`: watching cannot be undone.
int in_child(const std::function<bool()>& code) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(code() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

/// A process that differs from this one in `where`, and lives as long as the object.
class Other {
public:
    Other() {
        int ends[2] = {}, ready[2] = {};
        REQUIRE((::pipe(ends) == 0 && ::pipe(ready) == 0));
        pid = ::fork();
        if (pid == 0) {
            ::close(ends[1]);
            std::strcpy(where, "outside");
            char byte = 0;
            [[maybe_unused]] const auto told = ::write(ready[1], "r", 1), ended = ::read(ends[0], &byte, 1);
            ::_exit(0);
        }
        ::close(ends[0]);
        ::close(ready[1]);
        char byte = 0;
        REQUIRE(::read(ready[0], &byte, 1) == 1);
        ::close(ready[0]);
        end_ = ends[1];
    }
    ~Other() {
        ::close(end_);
        ::waitpid(pid, nullptr, 0);
    }
    pid_t pid = 0;

private:
    int end_ = -1;
};

std::string read_where() {
    std::array<char, sizeof where> text{};
    const auto got = read_self(reinterpret_cast<std::uint64_t>(where), std::as_writable_bytes(std::span(text)));
    return got == text.size() ? text.data() : "nothing";
}

}  // namespace

TEST_CASE("the memory that is read is that of the process that is watched") {
    CHECK(read_where() == "at home");
    const Other other;
    CHECK(in_child([&] {
              watch_process(other.pid);
              return read_where() == "outside" && host_process() == other.pid && is_watched_from_outside();
          }) == 0);
    CHECK_FALSE(is_watched_from_outside());
}

TEST_CASE("the maps are those of the process that is watched, and nothing is read once it has ended") {
    pid_t ended = 0;
    {
        const Other other;
        ended = other.pid;
        CHECK(in_child([&] {
                  watch_process(other.pid);
                  return host_memory_directory() == "/proc/" + std::to_string(other.pid) && read_proc_maps();
              }) == 0);
    }
    CHECK(in_child([&] {
              watch_process(ended);
              return read_where() == "nothing" && !read_proc_maps();
          }) == 0);
}

TEST_CASE("files are regular ones, of the process that is watched") {
    CHECK(open_host_file("/proc/self/exe"));
    CHECK_FALSE(open_regular_file("/dev/null"));
    CHECK_FALSE(open_host_file("/proc/self/no such file"));
    const Other other;
    CHECK(in_child([&] {
              watch_process(other.pid);
              return static_cast<bool>(open_host_file("/proc/self/exe")) && !open_host_file("/dev/null");
          }) == 0);
}

// Opening a FIFO to read would let a program go on that waits to open it for writing.
TEST_CASE("what is no regular file is not even opened") {
    const std::string path = "/tmp/regular-file-" + std::to_string(::getpid());
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const Descriptor opens(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    REQUIRE(::inotify_add_watch(opens.get(), path.c_str(), IN_OPEN) >= 0);
    CHECK_FALSE(open_regular_file(path));
    CHECK_FALSE(open_host_file(path));
    const Descriptor root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    CHECK_FALSE(FoundFile(path, {.root = root.get()}).open());
    const Other other;
    CHECK(in_child([&] {
              watch_process(other.pid);
              return !open_host_file(path);
          }) == 0);
    inotify_event event;
    CHECK(::read(opens.get(), &event, sizeof event) < 0);
    ::unlink(path.c_str());
}

// Its /proc/PID/stat then has no image, and the program goes on.
TEST_CASE("a program whose main thread has ended is no other program, and runs until the last one ends") {
    const auto seen = [] {
        int ends[2] = {};
        if (::pipe(ends) != 0) return false;
        const pid_t other = ::fork();
        if (other == 0) {
            ::close(ends[1]);
            std::thread last([&] {
                char byte = 0;
                ::_exit(::read(ends[0], &byte, 1) < 0 ? 1 : 0);
            });
            ::syscall(SYS_exit, 0);
        }
        ::close(ends[0]);
        set_host_process(other);
        const std::string stat = host_proc_directory() + "/stat";
        while (read_small_file(stat.c_str()).value_or(") Z").find(") Z") == std::string::npos) ::usleep(1000);
        const bool is_other = host_has_other_image(), runs = is_running(other);
        ::close(ends[1]);
        siginfo_t end{};
        const bool has_ended = ::waitid(P_PID, static_cast<id_t>(other), &end, WEXITED | WNOWAIT) == 0;
        const bool still_runs = is_running(other);
        int status = 0;
        return ::waitpid(other, &status, 0) == other && status == 0 && !is_other && runs && has_ended && !still_runs;
    };
    CHECK(in_child(seen) == 0);
}

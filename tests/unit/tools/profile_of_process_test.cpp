#include "live/profile_of_process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "outside/reader.hpp"
#include "profile/writer.hpp"

using namespace flameprobe;

namespace {

constexpr uid_t stranger = 65534;

/// A process that does what `begin` says, then waits. The constructor returns when it has begun.
class Other {
public:
    explicit Other(const std::function<bool()>& begin) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const char done = begin() ? 'y' : 'n';
            if (::write(ready[1], &done, 1) == 1) ::pause();
            ::_exit(0);
        }
        char done = 0;
        REQUIRE(::read(ready[0], &done, 1) == 1);
        REQUIRE(done == 'y');
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Other() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

struct Folder {
    Folder() {
        char name[] = "/tmp/flameprobe-test-XXXXXX";
        path = ::mkdtemp(name);
        ::chmod(path.c_str(), 0777);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(const char* name) const { return (path / name).string(); }
    std::filesystem::path path;
};

/// Writes a profile whose run is said to be process `pid`, and keeps it open.
bool hold_profile(const std::string& path, pid_t pid, mode_t mode = 0644) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644));
    if (!file || ::fchmod(file.get(), mode) != 0) return false;
    ProfileWriter writer(Descriptor(::dup(file.get())));
    RunInfo run;
    run.pid = static_cast<std::uint32_t>(pid);
    writer.run(run);
    static_cast<void>(file.release());
    return static_cast<bool>(writer.flush());
}

bool become_collector(uid_t user) {
    return (user == ::geteuid() || (::setgid(user) == 0 && ::setuid(user) == 0)) &&
           ::prctl(PR_SET_NAME, "flameprobe") == 0;
}

bool idle() { return true; }

}  // namespace

TEST_CASE("the profile that a collector of the same user writes is found") {
    const Folder folder;
    const Other host(idle);
    const Other collector(
        [&] { return become_collector(::geteuid()) && hold_profile(folder.file("a.fprobe"), host.pid()); });
    const auto found = profile_of_process(host.pid());
    REQUIRE(found);
    CHECK(found->path == folder.file("a.fprobe"));
    // What is read is the file that was found, whatever its name leads to by now.
    ::rename(folder.file("a.fprobe").c_str(), folder.file("b.fprobe").c_str());
    ByteSource source = found->from_start();
    CHECK(*is_profile(source));
}

TEST_CASE("another user's process is not believed, whatever it calls itself and has open") {
    if (::geteuid() != 0) return;
    const Folder folder;
    const Other host(idle);
    const auto forge = [&](mode_t mode) {
        return become_collector(stranger) && hold_profile(folder.file("forged.fprobe"), host.pid(), mode);
    };
    const Other forger([&] { return forge(0644); });
    CHECK_FALSE(profile_of_process(host.pid()));
    // Nor is its file where a believed process has it open, nor one that all may write.
    const Other reader(
        [&] { return become_collector(0) && ::open(folder.file("forged.fprobe").c_str(), O_RDWR) >= 0; });
    CHECK_FALSE(profile_of_process(host.pid()));
    const Other careless(
        [&] { return become_collector(0) && hold_profile(folder.file("open.fprobe"), host.pid(), 0666); });
    CHECK_FALSE(profile_of_process(host.pid()));
}

TEST_CASE("a process of another user, with its collector, is root's to look at") {
    if (::geteuid() != 0) return;
    const Folder folder;
    const Other host([] { return ::setgid(stranger) == 0 && ::setuid(stranger) == 0; });
    const Other collector(
        [&] { return become_collector(stranger) && hold_profile(folder.file("a.fprobe"), host.pid()); });
    CHECK(profile_of_process(host.pid()));
}

TEST_CASE("a pipe that is called .fprobe is not waited for") {
    const Folder folder;
    const Other host(idle);
    REQUIRE(::mkfifo(folder.file("pipe.fprobe").c_str(), 0600) == 0);
    const Other collector(
        [&] { return become_collector(::geteuid()) && ::open(folder.file("pipe.fprobe").c_str(), O_RDWR) >= 0; });
    ::alarm(30);
    CHECK_FALSE(profile_of_process(host.pid()));
    ::alarm(0);
}

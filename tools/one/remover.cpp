#include "remover.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/descriptor.hpp"
#include "base/number.hpp"
#include "base/proc.hpp"
#include "close_from.hpp"
#include "outside/own_directory.hpp"

namespace flameprobe {

namespace {

/// Of /proc/PID/stat.
struct Born {
    pid_t session;
    std::uint64_t ticks;
    bool ended = false;  // but its parent has not taken notice
};

Born born(const std::string& process) {
    const std::string stat = read_small_file((process + "/stat").c_str()).value_or("");
    constexpr int session = 6, start_time = 22;  // proc(5)
    return {static_cast<pid_t>(stat_number(stat, session)), stat_number(stat, start_time), stat_field(stat, 3) == "Z"};
}

/// Whether a file of /proc/PID has the text; where it may not be read errno says so.
bool has_text(const std::string& path, const std::string& text) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string kept;
    char piece[65536];
    for (ssize_t got = 0; file && (got = ::read(file.get(), piece, sizeof piece)) > 0;) {
        kept.append(piece, static_cast<std::size_t>(got));
        if (kept.find(text) != kept.npos) return true;
        if (kept.size() > text.size()) kept.erase(0, kept.size() - text.size());
    }
    return false;
}

/// Whether the process has mapped a file of the directory, or hands it on. One of our user's and of our session that
/// we may not look at (PR_SET_DUMPABLE) may be one.
bool uses(const std::string& process, const std::string& directory, bool in_session) {
    errno = 0;
    if (has_text(process + "/environ", directory) || has_text(process + "/maps", directory + "/")) return true;
    if (!in_session || (errno != EACCES && errno != EPERM)) return false;
    const auto user = status_number(read_small_file((process + "/status").c_str()).value_or(""), "Uid");
    return user && *user == ::geteuid();
}

std::vector<pid_t> users_of(const std::string& directory, const Born& command) {
    std::vector<pid_t> users;
    for (const pid_t pid : numbers_in("/proc")) {
        const std::string process = "/proc/" + std::to_string(pid);
        if (pid == ::getpid()) continue;
        const Born found = born(process);
        if (!found.ended && found.ticks >= command.ticks && uses(process, directory, found.session == command.session))
            users.push_back(pid);
    }
    return users;
}

/// Until one of them has ended.
void wait_for_one(const std::vector<pid_t>& users) {
    constexpr std::size_t most = 64;  // the others are seen when these are gone
    constexpr int patience_ms = 60'000, without_pidfd_ms = 1000;
    std::vector<Descriptor> owners;
    std::vector<pollfd> lives;
    for (const pid_t pid : users) {
        if (lives.size() == most) break;
        const int life = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
        if (life < 0 && errno == ESRCH) return;
        if (life < 0) continue;
        owners.emplace_back(life);
        lives.push_back({life, POLLIN, 0});
    }
    ::poll(lives.data(), lives.size(), lives.empty() ? without_pidfd_ms : patience_ms);
}

/// Has no terminal, no descriptor and no directory that others may wait for. Gives what became of `end`; -1: it failed.
int become_remover(int end) {
    constexpr int kept = 3;
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard < kept; ++standard) ::dup2(nothing, standard);
    if (end != kept) ::dup2(end, kept);
    close_from(kept + 1);
    ::setsid();
    if (::chdir("/") != 0) return -1;
    ::prctl(PR_SET_NAME, "flameprobe-rm");
    ::setpriority(PRIO_PROCESS, 0, 10);
    return kept;
}

void remove_when_unused(const std::string& directory, const Born& command, int its_end) {
    char byte = 0;
    while (::read(its_end, &byte, 1) < 0 && errno == EINTR) {
    }
    for (auto users = users_of(directory, command); !users.empty(); users = users_of(directory, command))
        wait_for_one(users);
    if (const auto own = OwnDirectory::open(directory)) static_cast<void>(own->clear());
    ::rmdir(directory.c_str());
}

}  // namespace

void start_remover(const std::string& directory) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    const Descriptor its_end(ends[0]);
    const Born command = born("/proc/self");
    const pid_t between = ::fork();
    if (between == 0) {
        if (::fork() != 0) ::_exit(0);
        const int kept = become_remover(its_end.get());
        if (kept >= 0) remove_when_unused(directory, command, kept);
        ::_exit(0);
    }
    while (between > 0 && ::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
    // The other end, ends[1], stays open for as long as this process lives; a program that it executes has it not.
}

}  // namespace flameprobe

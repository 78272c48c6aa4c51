#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "../launch.hpp"
#include "base/clock.hpp"
#include "interruption.hpp"

namespace flameprobe::bench {

namespace {

/// In the child; returns with errno if the program cannot be executed.
void execute(const ProcessRequest& request, char* const* arguments, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // if the bench itself is killed
    if (getppid() != parent) _exit(127);
    dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(request.output.get(), STDOUT_FILENO);
    dup2(request.output.get(), STDERR_FILENO);
    for (const auto& [name, value] : request.environment) setenv(name.c_str(), value.c_str(), 1);
    if (request.directory.empty() || chdir(request.directory.c_str()) == 0) execvp(arguments[0], arguments);
}

}  // namespace

Result<Process> Process::start(const ProcessRequest& request) {
    std::vector<char*> arguments;
    for (const std::string& word : request.command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const pid_t ours = getpid();
    const auto launched = launch([&] { execute(request, arguments.data(), ours); },
                                 [&](pid_t pid) {
                                     setpgid(pid, pid);
                                     if (request.before_exec) request.before_exec(pid);
                                 });
    if (!launched) return launched.error();
    if (launched->error != 0)
        return Error{request.command[0] + ": cannot be run" +
                     (request.directory.empty() ? "" : " in " + request.directory) + ": " +
                     strerrordesc_np(launched->error)};
    return Process(launched->pid, static_cast<int>(syscall(SYS_pidfd_open, launched->pid, 0)));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      ended_(other.ended_),
      status_(other.status_),
      usage_(other.usage_) {}

Process::~Process() {
    if (pid_ > 0) end(SIGKILL, Seconds(1));
}

bool Process::wait(Seconds most) {
    const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(most.count() * 1e9);
    for (bool first = true; !ended_; first = false) {
        const pid_t got = wait4(pid_, &status_, WNOHANG, &usage_);
        if (got == pid_ || (got < 0 && errno == ECHILD)) ended_ = true;
        const std::uint64_t now = monotonic_ns();
        if (ended_ || now >= until || (!first && interruption() != 0)) break;
        // A pidfd is readable when the process ends; without one (before Linux 5.3) we check every two milliseconds.
        pollfd wanted{pidfd_.get(), POLLIN, 0};
        const std::uint64_t left = std::min<std::uint64_t>((until - now) / 1'000'000 + 1, pidfd_ ? 1000 : 2);
        poll(&wanted, pidfd_ ? 1 : 0, static_cast<int>(left));
    }
    return ended_;
}

/// The group outlives its leader if a child still runs; until then no other process gets its id.
void Process::end_group() {
    if (::kill(-pid_, 0) == 0) ::kill(-pid_, SIGKILL);
}

bool Process::end(int signal, Seconds patience) {
    bool in_order = true;
    if (running()) {
        ::kill(pid_, signal);
        const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(patience.count() * 1e9);
        while (!ended_ && monotonic_ns() < until) wait(Seconds(0.02));
        in_order = ended_;
    }
    end_group();
    while (!ended_) wait(Seconds(1));
    return in_order;
}

std::string status_text(int wait_status) {
    if (WIFEXITED(wait_status)) return "exit status " + std::to_string(WEXITSTATUS(wait_status));
    const char* name = sigabbrev_np(WTERMSIG(wait_status));
    return "killed by SIG" + std::string(name != nullptr ? name : "?");
}

}  // namespace flameprobe::bench

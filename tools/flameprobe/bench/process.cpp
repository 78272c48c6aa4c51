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
#include <set>

#include "../launch.hpp"
#include "base/clock.hpp"
#include "base/proc.hpp"

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
                     error_text(launched->error)};
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
        const std::uint64_t left = std::min<std::uint64_t>((until - now) / ns_per_ms + 1, pidfd_ ? 1000 : 2);
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

namespace {

struct Stat {
    pid_t parent = 0, group = 0;
    std::uint64_t children_ticks = 0;
};

bool read_stat(pid_t pid, Stat& stat) {
    const auto text = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    if (!text) return false;
    // ppid, pgrp, cutime and cstime
    stat = {static_cast<pid_t>(stat_number(*text, 4)), static_cast<pid_t>(stat_number(*text, 5)),
            stat_number(*text, 16) + stat_number(*text, 17)};
    return true;
}

std::uint64_t own_threads_ns(pid_t pid) {
    const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    std::uint64_t sum = 0;
    for (const pid_t tid : numbers_in(tasks)) {
        const std::string task = tasks + "/" + std::to_string(tid);
        if (read_small_file((task + "/comm").c_str()).value_or("") != "flameprobe\n") continue;
        if (const auto schedule = read_schedule(task)) sum += schedule->cpu_ns;
    }
    return sum;
}

}  // namespace

std::uint64_t tree_cpu_ns(pid_t root) {
    std::map<pid_t, Stat> all;
    for (const pid_t pid : numbers_in("/proc")) {
        if (Stat stat; read_stat(pid, stat)) all.emplace(pid, stat);
    }
    std::set<pid_t> tree{root};
    for (std::size_t before = 0; before != tree.size();) {
        before = tree.size();
        for (const auto& [pid, stat] : all) {
            if (tree.contains(stat.parent) || stat.group == root) tree.insert(pid);
        }
    }
    static const std::uint64_t tick_ns = ns_per_second / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
    std::uint64_t sum = 0;
    for (const pid_t pid : tree) {
        const std::uint64_t used = read_clock(process_cpu_clock(static_cast<std::uint32_t>(pid))),
                            ours = own_threads_ns(pid);
        sum += used > ours ? used - ours : 0;
        if (const auto found = all.find(pid); found != all.end()) sum += found->second.children_ticks * tick_ns;
    }
    return sum;
}

namespace {

volatile sig_atomic_t came = 0;

void note(int signal) { came = signal; }

}  // namespace

void watch_for_interruption() {
    struct sigaction action {};
    action.sa_handler = note;  // without SA_RESTART
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

int interruption() noexcept { return came; }

}  // namespace flameprobe::bench

#include "child.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "launch.hpp"
#include "session/options.hpp"

namespace flameprobe {

namespace {

/// The signals that a user or a supervisor may send. SIGTSTP and SIGCONT keep their default action; the terminal sends
/// them to both processes.
sigset_t forwarded_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH})
        sigaddset(&set, signal);
    sigaddset(&set, SIGCHLD);
    return set;
}

void execute(char* const command[], const Child::Environment& environment, const sigset_t& mask) {
    for (const char* of_another : {"FLAMEPROBE_ROOT", "FLAMEPROBE_DIRTY"})
        unsetenv(of_another);  // the command begins a run of its own
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(command[0], command);
}

}  // namespace

Result<Child> Child::start(char* const command[], const Environment& environment, int& status,
                           const std::function<void(pid_t)>& before_exec) {
    status = 126;
    const sigset_t ours = forwarded_signals();
    sigset_t before;
    sigprocmask(SIG_BLOCK, &ours, &before);  // none may be lost between fork and wait
    const auto launched = launch([&] { execute(command, environment, before); },
                                 [&](pid_t pid) {
                                     if (before_exec) before_exec(pid);
                                 });
    if (!launched) return launched.error();
    if (launched->error == 0) return Child(launched->pid);
    if (launched->error == ENOENT) status = 127;
    return Error{std::string(command[0]) + ": cannot be run: " + error_text(launched->error)};
}

int Child::wait(const std::function<void()>& look) {
    const sigset_t ours = forwarded_signals();
    const timespec twentieth{0, 50'000'000};
    for (;;) {
        int status = 0;
        if (look) look();
        if (wait4(pid_, &status, WNOHANG, &usage_) == pid_) return status;
        siginfo_t info{};
        const int signal = look ? sigtimedwait(&ours, &info, &twentieth) : sigwaitinfo(&ours, &info);
        // The terminal's own signals (si_code SI_KERNEL) were sent to the whole foreground group.
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(pid_, signal);
    }
}

int end_like(int wait_status) {
    if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
    const int signal = WTERMSIG(wait_status);
    const rlimit no_core{0, 0};  // our core dump would overwrite the command's
    setrlimit(RLIMIT_CORE, &no_core);
    ::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(signal);
    return 128 + signal;
}

}  // namespace flameprobe

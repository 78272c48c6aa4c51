#include "exec_pause.hpp"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>

namespace flameprobe {

namespace {

/// The signal of the next stop, and with it the event (ptrace(2)); 0 if the child has ended, which is left to be waited
/// for.
int next_stop(pid_t pid) {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT) != 0)
        if (errno != EINTR) return 0;
    int status = 0;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return 0;
    return ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) ? status >> 8 : 0;
}

constexpr int executed = SIGTRAP | PTRACE_EVENT_EXEC << 8;

}  // namespace

ExecPause::ExecPause(pid_t pid)
    : pid_(pid), seized_(::ptrace(PTRACE_SEIZE, pid, nullptr, static_cast<long>(PTRACE_O_TRACEEXEC)) == 0) {}

ExecPause::~ExecPause() {
    if (seized_) ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

bool ExecPause::reached() {
    while (seized_) {
        const int stop = next_stop(pid_);
        if (stop == executed) return true;
        const bool of_group = (stop >> 8) == PTRACE_EVENT_STOP;  // SIGSTOP was delivered: it stays stopped
        const auto signal = static_cast<long>(stop & 0xff);
        if (stop == 0 || ::ptrace(of_group ? PTRACE_LISTEN : PTRACE_CONT, pid_, nullptr, of_group ? 0 : signal) != 0)
            return false;
    }
    return false;
}

}  // namespace flameprobe

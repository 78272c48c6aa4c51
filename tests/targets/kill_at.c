/* kill_at DESCRIPTOR WHO NUMBER PROGRAM ARGUMENT...: runs the program, and kills the process that makes the system call
 * with this number (from 1; 0: none) among those of WHO: `program`; a name, of those that come from the program;
 * `others`, of these all but flameprobe-draw. Says on the descriptor: STATUS CALLS KILLED CALL LEFT, the program's
 * status as waitpid(2) has it, how many calls there were, how many processes were killed, in which call, and how many
 * processes run on 10 s after the program's end. By ptrace(2): the calls are met at their entry, also of processes that
 * are made with CLONE_UNTRACED. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most = 4096, patience_s = 10, unknown = -1 };
#define OPTIONS \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

static struct task {
    pid_t tid;
    int generation, inside, waits;
} tasks[most];
static const char* wanted;
static long wanted_call, calls, killed, in_call = -1;
static volatile sig_atomic_t patience_over;

static struct task* task_of(pid_t tid) {
    struct task* unused = NULL;
    for (struct task* one = tasks; one < tasks + most; ++one) {
        if (one->tid == tid) return one;
        if (one->tid == 0 && unused == NULL) unused = one;
    }
    if (unused == NULL) exit(3);
    *unused = (struct task){.tid = tid, .generation = unknown};
    return unused;
}

static pid_t process_of(pid_t tid) {
    char path[64], line[256];
    long process = 0;
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE* status = fopen(path, "re");
    while (status != NULL && process == 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "Tgid:", 5) == 0) process = strtol(line + 5, NULL, 10);
    if (status != NULL) fclose(status);
    return (pid_t)process;
}

static void go_on(const struct task* task, int signal) { ptrace(PTRACE_SYSCALL, task->tid, 0, (long)signal); }

static int is_wanted(const struct task* task) {
    char path[64], name[32] = "";
    if (task->generation == 0) return strcmp(wanted, "program") == 0;
    snprintf(path, sizeof path, "/proc/%d/comm", task->tid);
    FILE* comm = fopen(path, "re");
    if (comm != NULL && fgets(name, sizeof name, comm) != NULL) name[strcspn(name, "\n")] = 0;
    if (comm != NULL) fclose(comm);
    return strcmp(wanted, "others") == 0 ? strcmp(name, "flameprobe-draw") != 0 : strcmp(name, wanted) == 0;
}

static void clear_untraced(pid_t tid) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0) return;
    registers.rdi &= ~(unsigned long)CLONE_UNTRACED;
    ptrace(PTRACE_SETREGS, tid, 0, &registers);
}

static void at_call(struct task* task) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return;
    if (info.entry.nr == SYS_clone && (info.entry.args[0] & CLONE_UNTRACED) != 0) clear_untraced(task->tid);
    if (!is_wanted(task) || ++calls != wanted_call) return;
    in_call = (long)info.entry.nr;
    ++killed;
    kill(process_of(task->tid), SIGKILL);
}

static void has_made(struct task* maker) {
    unsigned long made = 0;
    if (ptrace(PTRACE_GETEVENTMSG, maker->tid, 0, &made) != 0) return;
    struct task* const task = task_of((pid_t)made);
    task->generation = maker->generation + (process_of(task->tid) != process_of(maker->tid));
    if (task->waits) go_on(task, 0);
    task->waits = 0;
}

static void stopped(struct task* task, int status) {
    const int signal = WSTOPSIG(status), event = status >> 16;
    if (task->generation == unknown) { /* its maker has not told yet */
        task->waits = 1;
        return;
    }
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) has_made(task);
    if (signal == (SIGTRAP | 0x80)) at_call(task);
    if (event == PTRACE_EVENT_STOP &&
        (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU))
        ptrace(PTRACE_LISTEN, task->tid, 0, 0L);
    else
        go_on(task, event != 0 || signal == (SIGTRAP | 0x80) ? 0 : signal);
}

static void wake(int number) { patience_over = number; }

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const int answer = atoi(argv[1]);
    wanted = argv[2];
    wanted_call = atol(argv[3]);
    fcntl(answer, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct sigaction on_alarm = {.sa_handler = wake}; /* no SA_RESTART */
    sigaction(SIGALRM, &on_alarm, NULL);
    const pid_t program = fork();
    if (program == 0) {
        raise(SIGSTOP);
        execv(argv[4], argv + 4);
        _exit(127);
    }
    int status = 0, of_program = 0, left = 0;
    waitpid(program, &status, WUNTRACED);
    if (ptrace(PTRACE_SEIZE, program, 0, (long)OPTIONS) != 0) return 4;
    task_of(program)->generation = 0;
    kill(program, SIGCONT);
    for (;;) {
        const pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR && patience_over) break;
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) break;
        struct task* const task = task_of(tid);
        if (WIFSTOPPED(status)) {
            stopped(task, status);
            continue;
        }
        if (tid == program) {
            of_program = status;
            alarm(patience_s);
        }
        *task = (struct task){0};
    }
    for (struct task* one = tasks; one < tasks + most; ++one) {
        if (one->tid == 0) continue;
        ++left;
        kill(one->tid, SIGKILL);
    }
    dprintf(answer, "%d %ld %ld %ld %d\n", of_program, calls, killed, in_call, left);
    return 0;
}

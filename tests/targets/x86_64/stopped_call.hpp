// A thread that a tracer has stopped at the entry of a system call.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

class StoppedCall {
public:
    explicit StoppedCall(pid_t tid) : tid_(tid) { ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers_); }
    long number() const { return static_cast<long>(registers_.orig_rax); }
    unsigned long long first() const { return registers_.rdi; }
    unsigned long long second() const { return registers_.rsi; }
    void fail(int error) {
        registers_.orig_rax = ~0ULL;  // no such call: the kernel leaves rax as it is
        registers_.rax = static_cast<unsigned long long>(-static_cast<long long>(error));
        ::ptrace(PTRACE_SETREGS, tid_, nullptr, &registers_);
    }

private:
    pid_t tid_;
    user_regs_struct registers_{};
};

// A thread that a tracer has stopped at the entry of a system call.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

class StoppedCall {
public:
    explicit StoppedCall(pid_t tid) : tid_(tid) {
        iovec all{&registers_, sizeof registers_};
        ::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all);
    }
    long number() const { return static_cast<long>(registers_.regs[8]); }
    unsigned long long first() const { return registers_.regs[0]; }
    unsigned long long second() const { return registers_.regs[1]; }
    void fail(int error) {
        int none = -1;  // no such call: the kernel leaves x0 as it is
        iovec number{&none, sizeof none}, all{&registers_, sizeof registers_};
        registers_.regs[0] = static_cast<unsigned long long>(-static_cast<long long>(error));
        ::ptrace(PTRACE_SETREGSET, tid_, NT_PRSTATUS, &all);
        ::ptrace(PTRACE_SETREGSET, tid_, NT_ARM_SYSTEM_CALL, &number);
    }

private:
    pid_t tid_;
    user_regs_struct registers_{};
};

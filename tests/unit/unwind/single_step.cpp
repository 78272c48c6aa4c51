#include "single_step.hpp"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "../one_cpu.hpp"
#include "traced.hpp"

namespace flameprobe::testing {
namespace {

constexpr std::size_t copied = 16u << 10, few_words = 64;
constexpr std::uint64_t one_stack = 8u << 20;  // addresses further apart belong to different stacks

class ShadowStack {
public:
    void called(std::uint64_t slot, std::uint64_t return_address) { entries_.push_back({slot, return_address - 1}); }
    void interrupted(std::uint64_t at, std::uint64_t sp, std::uint64_t handler_sp, std::uint64_t restorer) {
        entries_.push_back({sp - 1, at});  // until the stack pointer is back where it was
        entries_.push_back({handler_sp, restorer - 1});
    }
    /// Drops what lies below the stack pointer. True if that was a jump out of frames, and no `ret` or sigreturn.
    bool unwind_to(std::uint64_t sp, std::uint64_t pc) {
        std::size_t gone = 0;
        std::uint64_t last = pc;
        while (!entries_.empty()) {
            const std::uint64_t slot = entries_.back().slot;
            const bool same_stack = slot - sp + one_stack < 2 * one_stack;
            // The CPU may have put the return address on the stack, or nothing.
            const bool returned_to = slot == sp && pc == entries_.back().lookup + 1;
            const bool left = same_stack ? slot < sp || returned_to : knows_stack_of(sp);
            if (!left) break;
            last = entries_.back().lookup;
            entries_.pop_back();
            ++gone;
        }
        const bool returned = gone == 1 && (pc == last || pc == last + 1);
        return gone != 0 && !returned;
    }
    bool empty() const { return entries_.empty(); }
    std::vector<std::uint64_t> callers() const {
        std::vector<std::uint64_t> out;
        for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) out.push_back(entry->lookup);
        return out;
    }

private:
    struct Entry {
        std::uint64_t slot, lookup;
    };
    /// False right after a switch to an alternate stack, where nothing was called yet.
    bool knows_stack_of(std::uint64_t sp) const {
        for (const Entry& entry : entries_)
            if (entry.slot - sp + one_stack < 2 * one_stack) return true;
        return false;
    }
    std::vector<Entry> entries_;
};

[[noreturn]] void run_traced(void (*function)()) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    function();
    ::_exit(0);
}

/// Executes one instruction; gives the signal to deliver next, or -1 once the child is gone.
int step(pid_t child, int deliver) {
    int status = 0;
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, static_cast<long>(deliver)) != 0) return -1;
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
    return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

Snapshot snapshot_of(pid_t child, std::size_t stack_bytes) {
    user_regs_struct raw{};
    iovec whole{&raw, sizeof raw};
    ::ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &whole);
    const Registers registers = to_registers(raw);
    return {registers, read_process(child, registers.sp(), stack_bytes)};
}

}  // namespace

Stepped single_step(void (*function)(), const Stepping& stepping, const std::function<void(const Instant&)>& watch,
                    const std::function<void()>& jumped) {
    const OnOneCpu both;
    const pid_t child = ::fork();
    if (child == 0) run_traced(function);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return Stepped::refused;

    ShadowStack shadow;
    Instant before{child, 0, snapshot_of(child, copied), {}};
    bool inside = false;
    std::size_t number = 0;
    for (int deliver = 0, next = 0; (next = step(child, deliver)) >= 0; deliver = next) {
        Instant now{child, number, snapshot_of(child, number % stepping.stride == 0 ? copied : few_words), {}};
        const Registers& registers = now.snapshot.registers;
        const std::uint64_t old_pc = before.snapshot.registers.pc(), old_sp = before.snapshot.registers.sp();
        const std::uint64_t back = return_address(now.snapshot);
        inside = inside || registers.pc() == reinterpret_cast<std::uint64_t>(function);
        if (inside && deliver != 0) {
            shadow.interrupted(old_pc, old_sp, registers.sp(), back);
        } else if (inside) {
            if (shadow.unwind_to(registers.sp(), registers.pc())) jumped();
            if (is_call(before.snapshot.registers, now.snapshot)) shadow.called(registers.sp(), back);
            if (shadow.empty()) break;
        }
        now.callers = shadow.callers();
        if (inside) watch(now);
        if (inside && ++number == stepping.most) {
            jumped();  // it may have been preparing a jump
            break;
        }
        before = std::move(now);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return Stepped::whole;
}

}  // namespace flameprobe::testing

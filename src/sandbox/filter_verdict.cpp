#include "sandbox/filter_verdict.hpp"

#include <sys/syscall.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/self_memory.hpp"
#include "cpu/kernel_abi.hpp"

namespace flameprobe {
namespace {

/// The machine of classic BPF (linux/filter.h), with the instructions that seccomp permits.
class Machine {
public:
    Machine(std::span<const sock_filter> program, const seccomp_data& call) : program_(program), call_(call) {}

    // No jump leads back, so it ends.
    std::optional<std::uint32_t> run() {
        for (at_ = 0; at_ < program_.size(); ++at_) {
            const sock_filter& step = program_[at_];
            if (BPF_CLASS(step.code) == BPF_RET) return BPF_RVAL(step.code) == BPF_A ? a_ : step.k;
            if (step.code == (BPF_ALU | BPF_DIV | BPF_X) && x_ == 0) return 0;  // net/core/filter.c: the end
            if (!take(step)) return {};
        }
        return {};
    }

private:
    bool take(const sock_filter& step) {
        switch (BPF_CLASS(step.code)) {
            case BPF_LD:
                return load(step, a_);
            case BPF_LDX:
                return load(step, x_);
            case BPF_ST:
                return store(step.k, a_);
            case BPF_STX:
                return store(step.k, x_);
            case BPF_ALU:
                return calculate(step);
            case BPF_JMP:
                return jump(step);
            case BPF_MISC:
                (BPF_MISCOP(step.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(step.code) == BPF_TAX ? a_ : x_;
                return true;
        }
        return false;
    }

    bool load(const sock_filter& step, std::uint32_t& to) {
        switch (BPF_MODE(step.code)) {
            case BPF_IMM:
                to = step.k;
                return true;
            case BPF_LEN:
                to = sizeof call_;
                return true;
            case BPF_MEM:
                if (step.k >= memory_.size()) return false;
                to = memory_[step.k];
                return true;
            case BPF_ABS:
                if (step.k % sizeof to != 0 || step.k >= sizeof call_) return false;
                std::memcpy(&to, reinterpret_cast<const char*>(&call_) + step.k, sizeof to);
                return true;
        }
        return false;
    }

    bool store(std::uint32_t index, std::uint32_t value) {
        if (index >= memory_.size()) return false;
        memory_[index] = value;
        return true;
    }

    std::uint32_t operand(const sock_filter& step) const { return BPF_SRC(step.code) == BPF_X ? x_ : step.k; }

    bool calculate(const sock_filter& step) {
        const std::uint32_t value = operand(step);
        switch (BPF_OP(step.code)) {
            case BPF_ADD:
                a_ += value;
                return true;
            case BPF_SUB:
                a_ -= value;
                return true;
            case BPF_MUL:
                a_ *= value;
                return true;
            case BPF_DIV:
                if (value == 0) return false;
                a_ /= value;
                return true;
            case BPF_AND:
                a_ &= value;
                return true;
            case BPF_OR:
                a_ |= value;
                return true;
            case BPF_XOR:
                a_ ^= value;
                return true;
            case BPF_LSH:
                a_ = value < 32 ? a_ << value : 0;
                return true;
            case BPF_RSH:
                a_ = value < 32 ? a_ >> value : 0;
                return true;
            case BPF_NEG:
                a_ = 0 - a_;
                return true;
        }
        return false;
    }

    bool jump(const sock_filter& step) {
        const std::uint32_t value = operand(step);
        bool holds = false;
        switch (BPF_OP(step.code)) {
            case BPF_JA:
                if (step.k >= program_.size()) return false;
                at_ += step.k;
                return true;
            case BPF_JEQ:
                holds = a_ == value;
                break;
            case BPF_JGT:
                holds = a_ > value;
                break;
            case BPF_JGE:
                holds = a_ >= value;
                break;
            case BPF_JSET:
                holds = (a_ & value) != 0;
                break;
            default:
                return false;
        }
        at_ += holds ? step.jt : step.jf;
        return true;
    }

    std::span<const sock_filter> program_;
    const seccomp_data& call_;
    std::size_t at_ = 0;
    std::uint32_t a_ = 0, x_ = 0;
    std::array<std::uint32_t, BPF_MEMWORDS> memory_{};
};

template <class T>
bool read_object(const void* from, std::span<T> to) {
    return read_self(reinterpret_cast<std::uintptr_t>(from), std::as_writable_bytes(to)) == to.size_bytes();
}

}  // namespace

std::optional<std::uint32_t> filter_verdict(std::span<const sock_filter> program, const seccomp_data& call) {
    return Machine(program, call).run();
}

bool lets_handlers_return(const void* filter) {
    std::array<sock_fprog, 1> head{};
    if (!read_object<sock_fprog>(filter, head) || head[0].len > BPF_MAXINSNS) return true;
    std::vector<sock_filter> program(head[0].len);
    if (!read_object<sock_filter>(head[0].filter, program)) return true;
    const auto verdict = filter_verdict(program, {SYS_rt_sigreturn, cpu::audit_architecture, 0, {}});
    if (!verdict) return true;
    const std::uint32_t action = *verdict & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

}  // namespace flameprobe

#include "sandbox/host_restrictions.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace flameprobe;

namespace {

constexpr std::uint16_t load_word = BPF_LD | BPF_W | BPF_ABS, if_equal = BPF_JMP | BPF_JEQ | BPF_K,
                        answer = BPF_RET | BPF_K;

bool lets_return(std::vector<sock_filter> code) {
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return lets_handlers_return(&program, 0);
}

}  // namespace

TEST_CASE("filters: one that allows rt_sigreturn lets handlers return") {
    constexpr auto number = offsetof(seccomp_data, nr);
    CHECK(lets_return({BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
    CHECK(lets_return({BPF_STMT(answer, SECCOMP_RET_LOG)}));
    for (const std::uint32_t refusal :
         {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO | EPERM}) {
        CHECK_FALSE(lets_return({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_rt_sigreturn, 0, 1),
                                 BPF_STMT(answer, refusal), BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
        CHECK(lets_return({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_rt_sigreturn, 0, 1),
                           BPF_STMT(answer, SECCOMP_RET_ALLOW), BPF_STMT(answer, refusal)}));
        CHECK(lets_return({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_execve, 0, 1), BPF_STMT(answer, refusal),
                           BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
    }
    CHECK_FALSE(
        lets_return({BPF_STMT(load_word, offsetof(seccomp_data, arch)), BPF_JUMP(if_equal, AUDIT_ARCH_I386, 0, 1),
                     BPF_STMT(answer, SECCOMP_RET_ALLOW), BPF_STMT(answer, SECCOMP_RET_KILL_PROCESS)}));
}

TEST_CASE("filters: one that the kernel does not take forbids nothing") {
    CHECK(lets_handlers_return(nullptr, 0));
    CHECK(lets_return({}));
    CHECK(lets_return({BPF_STMT(load_word, 0)}));  // no return instruction
}

TEST_CASE("filters: one with a listener is not tried, and counts as refusing") {
    CHECK_FALSE(lets_handlers_return(nullptr, SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

TEST_CASE("filters: one that kills for a call of the collector is recognised") {
    constexpr auto number = offsetof(seccomp_data, nr);
    const auto kills = [](std::vector<sock_filter> code) {
        const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
        return filter_for_all_would_kill(&program, SECCOMP_FILTER_FLAG_TSYNC);
    };
    CHECK_FALSE(kills({BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
    CHECK(kills({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_openat, 0, 1),
                 BPF_STMT(answer, SECCOMP_RET_KILL_PROCESS), BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
}

#include "sandbox/filter_verdict.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

using namespace flameprobe;

namespace {

constexpr std::uint16_t load_word = BPF_LD | BPF_W | BPF_ABS, if_equal = BPF_JMP | BPF_JEQ | BPF_K,
                        answer = BPF_RET | BPF_K;

bool lets_return(std::vector<sock_filter> code) {
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    return lets_handlers_return(&program);
}

/// Some calculation on the words of getppid's arguments, answered as its errno; every other call is allowed.
std::vector<sock_filter> random_program(std::mt19937& random) {
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    std::vector<sock_filter> code = {
        BPF_STMT(load_word, offsetof(seccomp_data, nr)),
        BPF_JUMP(if_equal, SYS_getppid, 1, 0),
        BPF_STMT(answer, SECCOMP_RET_ALLOW),
    };
    for (std::uint16_t cell = 0; cell < BPF_MEMWORDS; ++cell) code.push_back(BPF_STMT(BPF_ST, cell));
    constexpr std::uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR, BPF_XOR};
    constexpr std::uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
    for (std::uint32_t left = 40; left > 0; --left) {
        const auto source = static_cast<std::uint16_t>(below(2) == 0 ? BPF_K : BPF_X);
        const auto far = [&] { return static_cast<std::uint8_t>(below(left)); };
        switch (below(10)) {
            case 0:
                code.push_back(BPF_STMT(load_word, 16 + 4 * below(12)));
                break;
            case 1:
                code.push_back(
                    BPF_STMT(static_cast<std::uint16_t>(below(2) == 0 ? BPF_LD | BPF_IMM : BPF_LDX | BPF_IMM),
                             static_cast<std::uint32_t>(random())));
                break;
            case 2:
                code.push_back(
                    BPF_STMT(static_cast<std::uint16_t>(below(2) == 0 ? BPF_LD | BPF_MEM : BPF_LDX | BPF_MEM),
                             below(BPF_MEMWORDS)));
                break;
            case 3:
                code.push_back(
                    BPF_STMT(static_cast<std::uint16_t>(below(2) == 0 ? BPF_ST : BPF_STX), below(BPF_MEMWORDS)));
                break;
            case 4:
                code.push_back(BPF_STMT(static_cast<std::uint16_t>(BPF_MISC | (below(2) == 0 ? BPF_TAX : BPF_TXA)), 0));
                break;
            case 5:
                code.push_back(
                    BPF_STMT(static_cast<std::uint16_t>(BPF_ALU | (below(2) == 0 ? BPF_LSH : BPF_RSH)), below(32)));
                break;
            case 6:
                code.push_back(BPF_STMT(
                    static_cast<std::uint16_t>(below(2) == 0 ? BPF_ALU | BPF_NEG : BPF_LD | BPF_W | BPF_LEN), 0));
                break;
            case 7:
                code.push_back(BPF_STMT(BPF_JMP | BPF_JA, far()));
                break;
            case 8:
                code.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | jumps[below(4)] | source),
                                        static_cast<std::uint32_t>(random()), far(), far()));
                break;
            default:
                code.push_back(BPF_STMT(static_cast<std::uint16_t>(BPF_ALU | operations[below(7)] | source),
                                        1 + static_cast<std::uint32_t>(random() >> 1)));
        }
    }
    code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7ff));
    code.push_back(BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO));
    code.push_back(BPF_STMT(BPF_RET | BPF_A, 0));
    return code;
}

// The kernel's last word is to kill the thread: TSan has another one in every process, which would live on.
#ifdef __SANITIZE_THREAD__
constexpr bool under_tsan = true;
#else
constexpr bool under_tsan = false;
#endif

constexpr int refused = -1, killed = -2;

/// The kernel's answer to getppid(words), asked for in a child: an errno, 0 included, or one of the above, the first if
/// it does not take the program.
int asked_of_kernel(std::vector<sock_filter>& code, const std::uint64_t (&words)[6]) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
        int told = refused;
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
            const long result = ::syscall(SYS_getppid, words[0], words[1], words[2], words[3], words[4], words[5]);
            told = result >= 0 ? static_cast<int>(result) : errno;
        }
        ::_exit(::write(pipe[1], &told, sizeof told) == sizeof told ? 0 : 1);
    }
    ::close(pipe[1]);
    int told = killed;
    if (::read(pipe[0], &told, sizeof told) != sizeof told) told = killed;
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    return told;
}

}  // namespace

TEST_CASE("filter verdict: who allows rt_sigreturn lets handlers return") {
    constexpr auto number = offsetof(seccomp_data, nr);
    CHECK(lets_return({BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
    CHECK(lets_return({BPF_STMT(answer, SECCOMP_RET_LOG)}));
    for (const std::uint32_t refusal : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
                                        SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_TRACE, SECCOMP_RET_USER_NOTIF}) {
        CHECK_FALSE(lets_return({BPF_STMT(answer, refusal)}));
        CHECK(lets_return({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_rt_sigreturn, 0, 1),
                           BPF_STMT(answer, SECCOMP_RET_ALLOW), BPF_STMT(answer, refusal)}));
        CHECK(lets_return({BPF_STMT(load_word, number), BPF_JUMP(if_equal, SYS_execve, 0, 1), BPF_STMT(answer, refusal),
                           BPF_STMT(answer, SECCOMP_RET_ALLOW)}));
    }
    CHECK_FALSE(
        lets_return({BPF_STMT(load_word, offsetof(seccomp_data, arch)), BPF_JUMP(if_equal, AUDIT_ARCH_I386, 0, 1),
                     BPF_STMT(answer, SECCOMP_RET_ALLOW), BPF_STMT(answer, SECCOMP_RET_KILL_PROCESS)}));
}

TEST_CASE("filter verdict: what the kernel would refuse, or cannot read, forbids nothing") {
    CHECK(lets_handlers_return(nullptr));
    const sock_fprog nowhere{4, nullptr};
    CHECK(lets_handlers_return(&nowhere));
    CHECK(lets_return({}));
    CHECK(lets_return({BPF_STMT(load_word, 0)}));                        // no end
    CHECK(lets_return({BPF_STMT(load_word, 64), BPF_STMT(answer, 0)}));  // past the data
    CHECK(lets_return({BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff), BPF_STMT(answer, 0)}));
    CHECK(lets_return({BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS), BPF_STMT(answer, 0)}));
}

TEST_CASE("filter verdict: as the kernel's, on random programs" * doctest::skip(under_tsan)) {
    std::mt19937 random(20261121);  // the same programs every time
    int taken = 0;
    for (int round = 0; round < 300; ++round) {
        auto code = random_program(random);
        std::uint64_t words[6];
        for (auto& word : words) word = std::uint64_t{random()} << 32 | random();
        const int kernels = asked_of_kernel(code, words);
        if (kernels == refused) continue;
        ++taken;
        seccomp_data call{SYS_getppid, AUDIT_ARCH_X86_64, 0, {}};
        for (std::size_t i = 0; i < 6; ++i) call.args[i] = words[i];
        const auto verdict = filter_verdict(code, call);
        REQUIRE(verdict);
        if (kernels == killed) {
            CHECK(*verdict == SECCOMP_RET_KILL_THREAD);
            continue;
        }
        CHECK((*verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO);
        CHECK(static_cast<int>(*verdict & SECCOMP_RET_DATA) == kernels);
    }
    CHECK(taken > 250);
}

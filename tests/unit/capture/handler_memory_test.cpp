#include "capture/handler_memory.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

using namespace flameprobe;

namespace {

bool forbid_getpid() {
    std::array code{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{code.size(), code.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What a handler that still runs finds after the memory's owner is gone. 77: there are no filters here.
int slots_that_a_visit_sees(bool filtered) {
    std::optional<HandlerMemory> memory = std::move(*HandlerMemory::make({4096, 4, 7}));
    const handler::Visit visit;
    if (filtered && !forbid_getpid()) return 77;
    memory.reset();
    return static_cast<int>(visit.state()->slot_count);
}

}  // namespace

TEST_CASE("the memory stays under a running handler, in a filter that forbids getpid too") {
    for (const bool filtered : {false, true}) {
        CAPTURE(filtered);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) _exit(slots_that_a_visit_sees(filtered));
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK((WEXITSTATUS(status) == 7 || (filtered && WEXITSTATUS(status) == 77)));
    }
}

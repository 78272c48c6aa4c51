// A blocked thread walked from pc and sp alone, beside the same thread walked with all registers, which ptrace(2)
// gives.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "../full_size.hpp"
#include "../live_map.hpp"
#include "blocked_child.hpp"
#include "traced.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;

namespace {

struct Counts {
    int reads = 0, rooted = 0, recovered = 0, wrong = 0;
};

/// Both walks of a thread that is stopped in a system call.
void compare(Unwinder& unwinder, pid_t process, const user_regs_struct& regs, Counts& counts) {
    const auto stack = testing::read_process(process, regs.rsp, 60 * 1024);
    const StackCopy copy{regs.rsp, stack};
    Walk whole, blocked;
    unwinder.walk(testing::to_registers(regs), copy, nullptr, whole);
    unwinder.walk_blocked(regs.rip, regs.rsp, copy, nullptr, blocked);
    ++counts.reads;
    counts.rooted += whole.end == WalkEnd::root;
    counts.recovered += whole.end == WalkEnd::root && blocked.end == WalkEnd::root;
    bool same = blocked.frames.size() <= whole.frames.size();
    for (std::size_t i = 0; same && i < blocked.frames.size(); ++i)
        same = blocked.frames[i].address == whole.frames[i].address;
    counts.wrong += !same || (blocked.end == WalkEnd::root && blocked.frames.size() != whole.frames.size());
}

}  // namespace

TEST_CASE("a blocked thread's stack is right without its registers, and rarely truncated") {
    const int rounds = testing::full_size() ? 1000 : 20;
    std::vector<pid_t> tids;
    const pid_t child = testing::start_blocked_child(tids);
    REQUIRE(child > 0);
    CodeMap map;
    testing::add_own_mappings(map);
    const auto unwinder = make_dwarf_unwinder(map);
    bool traced = true;
    for (const pid_t tid : tids) traced = traced && ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0;
    Counts counts;
    for (int round = 0; traced && round < rounds; ++round) {
        for (const pid_t tid : tids) {
            user_regs_struct regs{};
            int status = 0;
            if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 || ::waitpid(tid, &status, __WALL) != tid)
                continue;
            constexpr auto no_call = ~0ULL;
            if (::ptrace(PTRACE_GETREGS, tid, nullptr, &regs) == 0 && regs.orig_rax != no_call)
                compare(*unwinder, child, regs, counts);
            ::ptrace(PTRACE_CONT, tid, nullptr, nullptr);
        }
    }
    ::kill(child, SIGKILL);
    while (::waitpid(-1, nullptr, __WALL) > 0) continue;
    if (!traced) {
        MESSAGE("not run: ptrace of a child is not permitted");
        return;
    }
    CAPTURE(counts.reads);
    CAPTURE(counts.rooted);
    CAPTURE(counts.recovered);
    CHECK(counts.reads > rounds * 20);
    CHECK(counts.wrong == 0);
    CHECK(counts.recovered >= counts.rooted * testing::least_recovered);
    MESSAGE(counts.recovered << " of " << counts.rooted << " rooted, " << counts.wrong << " of " << counts.reads
                             << " wrong");
}

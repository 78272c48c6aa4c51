#include "base/system_call_names.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>

using namespace flameprobe;

TEST_CASE("system calls have the names of the C library's headers") {
    CHECK(system_call_name(SYS_read) == "read");
    CHECK(system_call_name(SYS_recvfrom) == "recvfrom");
    CHECK(system_call_name(SYS_futex) == "futex");
    CHECK(system_call_name(SYS_rseq) == "rseq");
    CHECK(system_call_name(SYS_pidfd_send_signal) == "pidfd_send_signal");
    CHECK(system_call_name(SYS_set_mempolicy_home_node) == "set_mempolicy_home_node");
    CHECK(system_call_name(335) == "");  // in the gap before 424, from which on all CPUs have the same numbers
    CHECK(system_call_name(423) == "");
    CHECK(system_call_name(100'000) == "");
}

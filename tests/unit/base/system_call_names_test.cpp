#include "base/system_call_names.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>

using namespace flameprobe;

TEST_CASE("the numbers of system calls have the names that the C library's headers give them") {
    CHECK(system_call_name(SYS_read) == "read");
    CHECK(system_call_name(SYS_recvfrom) == "recvfrom");
    CHECK(system_call_name(SYS_futex) == "futex");
    CHECK(system_call_name(SYS_rseq) == "rseq");
    CHECK(system_call_name(SYS_pidfd_send_signal) == "pidfd_send_signal");
    CHECK(system_call_name(SYS_set_mempolicy_home_node) == "set_mempolicy_home_node");
    CHECK(system_call_name(335) == "");  // before those that all CPUs share
    CHECK(system_call_name(423) == "");
    CHECK(system_call_name(100'000) == "");
}

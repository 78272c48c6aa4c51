#include <doctest/doctest.h>

#include "outside/counters.hpp"

using namespace flameprobe;

TEST_CASE("waiting time by system call is read back from a profile's counters, the longest first") {
    Counters counters = {{"off-CPU: waits", 7}, {"blocked in", 1}, {"blocked in x", 2}, {"blocked on", 3}};
    set_blocked_call(counters, {"read", 100, 3, {{"pipe_read", 40}, {"sk_wait_data", 50}}});
    set_blocked_call(counters, {"[not in a system call]", 200, 0, {}});
    const auto calls = blocked_calls(counters);
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].call == "[not in a system call]");
    CHECK(calls[0].ns == 200);
    CHECK(calls[0].waits == 0);
    CHECK(calls[0].channels.empty());
    CHECK(calls[1].call == "read");
    CHECK(calls[1].ns == 100);
    CHECK(calls[1].waits == 3);
    CHECK(calls[1].channels == std::map<std::string, std::uint64_t>{{"pipe_read", 40}, {"sk_wait_data", 50}});
    CHECK(blocked_calls({}).empty());
}

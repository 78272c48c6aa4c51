#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/proc.hpp"

using namespace flameprobe;

TEST_CASE("a schedstat file has three numbers") {
    const auto schedule = parse_schedule("123456789012 34 5\n");
    REQUIRE(schedule);
    CHECK(schedule->cpu_ns == 123456789012);
    CHECK(schedule->delay_ns == 34);
    CHECK(schedule->slices == 5);
    for (const char* bad : {"", "\n", "1 2\n", "1 two 3\n"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_schedule(bad));
    }
}

TEST_CASE("a stat file's fields are counted from the end of its name") {
    constexpr auto stat = "12 (a) b (c) S 1 -2 34\n";
    CHECK(stat_field(stat, 3) == "S");
    CHECK(stat_number(stat, 4) == 1);
    CHECK(stat_field(stat, 5) == "-2");
    CHECK(stat_number(stat, 6) == 34);
    CHECK(stat_field(stat, 7) == "");
    for (const char* bad : {"", "12", "12 (a", "12 (a)", "12 (a)\n"}) {
        CAPTURE(bad);
        CHECK(stat_field(bad, 3) == "");
        CHECK(stat_number(bad, 4) == 0);
    }
}

TEST_CASE("a status tells how many filters of system calls are in force") {
    CHECK(filters_in_force("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n") == 0);
    CHECK(filters_in_force("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t3\n") == 3);
    CHECK(filters_in_force("Name:\tx\nSeccomp:\t2\n") == unknown_filters);
    CHECK(filters_in_force("Name:\tx\nSeccomp:\t1\nSeccomp_filters:\t0\n") == unknown_filters);
    CHECK(filters_in_force("Name:\tx\n") == 0);
}

TEST_CASE("a running thread's CPU time is what the scheduler counted") {
    if (read_schedule("/proc/thread-self")) {
        const std::uint64_t before = read_schedule("/proc/thread-self")->cpu_ns;
        // schedstat is brought up to date at ticks, so this ends after one.
        while (read_schedule("/proc/thread-self")->cpu_ns == before) {
        }
    } else {
        MESSAGE("this kernel keeps no schedstat");
    }
    CHECK_FALSE(read_schedule("/proc/self/task/0"));
}

// The kernel gives `children` in pieces of a page at most, and `status` is as long as the list of groups.
TEST_CASE("a file of a thread is read to its end") {
    const std::string directory = "/tmp/task-list-" + std::to_string(::getpid());
    std::filesystem::create_directories(directory + "/1");
    std::string children;
    for (int pid = 10'000; children.size() < 20'000; ++pid) children += std::to_string(pid) + ' ';
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{4096}, children.size()}) {
        CAPTURE(size);
        std::ofstream(directory + "/1/children") << children.substr(0, size);
        CHECK(TaskList(directory).file(1, "children") == children.substr(0, size));
    }
    std::filesystem::remove_all(directory);
}

#include "symbolize/event_choice.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

namespace {

using Names = std::vector<std::string>;

EventChoice chosen(const std::string& wanted, const std::string& shown, bool idle = false) {
    EventChoice choice(wanted, idle);
    RunInfo run;
    run.event = "cpu-clock";
    run.period_ns = 10;
    run.shown = shown;
    choice.set_run(run);
    choice.add(1, {"offcpu", "waiting time", 99, 1});
    choice.add(2, {"offcpu-idle", "waiting time", 99, 1});
    return choice;
}

}  // namespace

TEST_CASE("a file with one event shows that event") {
    EventChoice choice("", false);
    RunInfo run;
    run.event = "page-faults";
    choice.set_run(run);
    CHECK(choice.factor(0) == 1);
    CHECK(choice.names() == Names{"page-faults"});
    CHECK(choice.shown() == Names{"page-faults"});
    CHECK(choice.is_own());
}

TEST_CASE("one of the recorded events is chosen at a time") {
    const auto cpu = chosen("", "cpu,offcpu");
    CHECK(cpu.names() == Names{"cpu", "offcpu", "wall"});
    CHECK(cpu.shown() == Names{"cpu", "offcpu"});
    CHECK(cpu.factor(0) == 1);
    CHECK(cpu.factor(1) == 0);
    CHECK(chosen("", "offcpu").chosen() == "offcpu");
    const auto off = chosen("offcpu", "cpu,offcpu");
    CHECK(off.factor(0) == 0);
    CHECK(off.factor(1) == 1);
    CHECK(off.factor(2) == 0);
    CHECK(chosen("offcpu", "cpu", true).factor(2) == 1);
    CHECK_FALSE(chosen("cycles", "cpu").is_there());
    CHECK(chosen("cpu-clock", "cpu").is_own());
}

TEST_CASE("wall is the clock's samples in nanoseconds and the waits") {
    const auto wall = chosen("wall", "cpu,offcpu");
    CHECK(wall.factor(0) == 10);
    CHECK(wall.factor(1) == 1);
    CHECK(wall.factor(2) == 0);
    RunInfo run;
    wall.describe(run);
    CHECK(run.event == "wall");
    CHECK(run.period_ns == 1);
}

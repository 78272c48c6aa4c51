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
    CHECK(choice.reads(0));
    CHECK(choice.names() == Names{"page-faults"});
    CHECK(choice.shown() == Names{"page-faults"});
    CHECK(choice.is_own());
}

TEST_CASE("one of the recorded events is chosen at a time") {
    const auto cpu = chosen("", "cpu,offcpu");
    CHECK(cpu.names() == Names{"cpu", "offcpu", "wall"});
    CHECK(cpu.shown() == Names{"cpu", "offcpu"});
    CHECK(cpu.reads(0));
    CHECK_FALSE(cpu.reads(1));
    CHECK(chosen("", "offcpu").chosen() == "offcpu");
    const auto off = chosen("offcpu", "cpu,offcpu");
    CHECK_FALSE(off.reads(0));
    CHECK(off.reads(1));
    CHECK_FALSE(off.reads(2));
    CHECK(chosen("offcpu", "cpu", true).reads(2));
    CHECK_FALSE(chosen("cycles", "cpu").is_there());
    CHECK(chosen("cpu-clock", "cpu").is_own());
}

TEST_CASE("wall is the clock's samples in nanoseconds and the waits") {
    const auto wall = chosen("wall", "cpu,offcpu");
    CHECK(wall.reads(0));
    CHECK(wall.reads(1));
    CHECK_FALSE(wall.reads(2));
    RunInfo run;
    wall.describe(run);
    CHECK(run.event == "wall");
    CHECK(run.period_ns == 1);
}

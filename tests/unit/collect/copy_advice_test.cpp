#include <doctest/doctest.h>

#include "collect/recording.hpp"

using namespace flameprobe;

TEST_CASE("where many stacks are cut, one sentence names the setting that copies more") {
    Summary summary;
    summary.samples = summary.hits = 1000;
    summary.continuation_rejected = 500;
    RunInfo run;
    run.engine = "ring";
    run.stack_bytes = 8192;
    CHECK(copy_advice(summary, run) ==
          "50 % of the stacks are deeper than the 8192 bytes that are copied, and [truncated]: FLAMEPROBE_STACK=61440 "
          "copies more");
    SUBCASE("rings have an end") {
        run.stack_bytes = 61440;
        CHECK(copy_advice(summary, run).ends_with("FLAMEPROBE_ENGINE=timer FLAMEPROBE_STACK=1048576 copies more"));
    }
    SUBCASE("handlers copy all") {
        run.engine = "timer";
        CHECK(copy_advice(summary, run).ends_with(": FLAMEPROBE_STACK=1048576 copies more"));
        run.stack_bytes = 1048576;
        CHECK(copy_advice(summary, run).empty());
    }
    SUBCASE("few are cut") {
        summary.continuation_rejected = 49;
        CHECK(copy_advice(summary, run).empty());
    }
    SUBCASE("there are few samples") {
        summary.samples = summary.hits = 20;
        summary.continuation_rejected = 19;
        CHECK(copy_advice(summary, run).empty());
    }
}

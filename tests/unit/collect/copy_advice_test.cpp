#include <doctest/doctest.h>

#include "collect/recording.hpp"

using namespace flameprobe;

TEST_CASE("where many stacks are cut, one sentence names the setting that copies more") {
    Summary summary;
    summary.samples = summary.hits = 1000;
    summary.continuation_rejected = 500;
    std::uint32_t copied = 8192, most = 61440;  // of rings
    CHECK(copy_advice(summary, copied, most) ==
          "50 % of the stacks are deeper than the 8192 bytes that are copied, and [truncated]: FLAMEPROBE_ENGINE=timer "
          "FLAMEPROBE_STACK=1048576 copies more");
    SUBCASE("handlers copy all") {
        most = 1048576;
        CHECK(copy_advice(summary, copied, most).ends_with(": FLAMEPROBE_STACK=1048576 copies more"));
        copied = 1048576;
        CHECK(copy_advice(summary, copied, most).empty());
    }
    SUBCASE("few are cut") {
        summary.continuation_rejected = 49;
        CHECK(copy_advice(summary, copied, most).empty());
    }
    SUBCASE("there are few samples") {
        summary.samples = summary.hits = 20;
        summary.continuation_rejected = 19;
        CHECK(copy_advice(summary, copied, most).empty());
    }
}

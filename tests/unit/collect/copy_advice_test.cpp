#include <doctest/doctest.h>

#include "collect/missing.hpp"

using namespace flameprobe;

TEST_CASE("where many stacks are cut, one sentence names the setting that copies more") {
    Summary summary;
    summary.samples = summary.hits = 1000;
    summary.continuation_rejected = 500;
    std::uint32_t copied = 8192, most = 61440;  // of rings
    CHECK(what_is_missing(summary, 0, copied, most) ==
          "50 % of the stacks are deeper than the 8192 bytes that are copied, and [truncated]: FLAMEPROBE_ENGINE=timer "
          "FLAMEPROBE_STACK=1048576 copies more");
    SUBCASE("handlers copy all") {
        most = 1048576;
        CHECK(what_is_missing(summary, 0, copied, most).ends_with(": FLAMEPROBE_STACK=1048576 copies more"));
        copied = 1048576;
        CHECK(what_is_missing(summary, 0, copied, most).empty());
    }
    SUBCASE("few are cut") {
        summary.continuation_rejected = 49;
        CHECK(what_is_missing(summary, 0, copied, most).empty());
    }
    SUBCASE("there are few samples") {
        summary.samples = summary.hits = 20;
        summary.continuation_rejected = 19;
        CHECK(what_is_missing(summary, 0, copied, most).empty());
    }
    SUBCASE("time without samples weighs more where it is more than a twentieth, and rings that were full most") {
        summary.continuation_rejected = 0;
        CHECK(what_is_missing(summary, 50, copied, most).empty());
        CHECK(
            what_is_missing(summary, 1000, copied, most) ==
            "50 % of the time is [not sampled], in threads that ran too briefly: a higher FLAMEPROBE_FREQ takes more");
        summary.lost = 500;
        CHECK(what_is_missing(summary, 500, copied, most) ==
              "25 % of the time is [lost], since there was no room for samples: a lower FLAMEPROBE_FREQ loses less");
    }
}

#include "session/collector.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "session/family.hpp"

using namespace flameprobe;

TEST_CASE("a forked child that ends at once has opened nothing") {
    Options options;
    options.out = "/nowhere/%p";
    options.frequency = 1;  // the longest wait
    PathFacts facts;
    facts.executable = "unit";
    Log log(LogMode::quiet, "");
    static Collector* const kept =
        new Collector(options, facts, {.keep = false}, log);  // its thread may be in it still
    Collector& collector = *kept;
    CommandQueue& commands = collector.commands();
    const std::uint32_t start = commands.ask(request_start);
    collector.wait_at_birth(start);
    const std::uint32_t finish = commands.ask(request_finish);
    REQUIRE(collector.launch());
    REQUIRE(commands.wait(finish, 60'000'000'000));
    CHECK(collector.finishing());
    CHECK_FALSE(collector.waits_at_birth());
    CHECK_FALSE(collector.is_settled());
    CHECK_FALSE(collector.is_task());
    CHECK_FALSE(collector.sampling().has_recording());
    CHECK(commands.tid() == 0);  // it was not even prepared
}

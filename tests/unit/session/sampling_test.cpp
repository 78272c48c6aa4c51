#include "session/sampling.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "alone.hpp"
#include "base/clock.hpp"
#include "base/host_process.hpp"

using namespace flameprobe;

// Beside a thread that ran before, as with TSan, a recording begins at once.
TEST_CASE("a recording begins with the first sample or 20 ms of CPU time, where the collector is a thread too" *
          doctest::skip(test::threads_alone > 1)) {
    std::string folder = "/tmp/flameprobe-test-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    test::sleep_until_alone();
    for (const auto engine : {EngineChoice::automatic, EngineChoice::timer}) {
        Options options;
        options.engine = engine;
        options.frequency = 1;  // no sample comes
        options.out = folder + "/profile";
        options.formats.clear();
        PathFacts facts;
        facts.executable = "unit";
        Log log(LogMode::quiet, "");
        Sampling sampling(options, facts, {.keep = false}, log, [] {});
        REQUIRE(sampling.open());
        sampling.start(std::nullopt);
        REQUIRE(sampling.on());
        CHECK_FALSE(sampling.has_recording());
        const std::uint64_t until = host_cpu_ns() + options.least_cpu_ns;
        while (host_cpu_ns() < until) {
        }
        sampling.poll();
        CHECK(sampling.has_recording());
        sampling.finish();
    }
    std::filesystem::remove_all(folder);
}

#include "session/sampling.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <time.h>

#include <filesystem>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"

using namespace flameprobe;

namespace {

void sleep_until_alone() {
    for (int tries = 0; tries < 60'000 && list_threads().size() != 1; ++tries) {
        const timespec millisecond{0, 1'000'000};
        ::nanosleep(&millisecond, nullptr);
    }
    REQUIRE(list_threads().size() == 1);
}

}  // namespace

TEST_CASE("a recording begins with the first sample or 20 ms of CPU time, where the collector is a thread too") {
    std::string folder = "/tmp/flameprobe-test-XXXXXX";
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    sleep_until_alone();  // the collector of another test may be on its way out
    for (const auto engine : {EngineChoice::automatic, EngineChoice::timer}) {
        Options options;
        options.engine = engine;
        options.frequency = 1;  // no sample comes
        options.out = folder + "/profile";
        options.formats.clear();
        PathFacts facts;
        facts.executable = "unit";
        Log log(LogMode::quiet, "");
        Sampling sampling(options, facts, {.keep = false}, log, {[] { return 1u; }, [] {}});
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

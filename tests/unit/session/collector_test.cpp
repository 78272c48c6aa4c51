#include "session/collector.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

#include "alone.hpp"
#include "base/host_process.hpp"
#include "session/family.hpp"

using namespace flameprobe;

namespace {

/// Never deleted, as the collector that has a reference to it: its thread may still use them.
template <class T, class... Arguments>
T& kept_for_thread(Arguments&&... arguments) {
    return *new T(std::forward<Arguments>(arguments)...);
}

}  // namespace

TEST_CASE("a forked child that ends at once has opened nothing") {
    Options& options = kept_for_thread<Options>();
    options.out = "/nowhere/%p";
    options.frequency = 1;  // the longest wait
    PathFacts facts;
    facts.executable = "unit";
    Log& log = kept_for_thread<Log>(LogMode::quiet, "");
    static Collector* const kept = new Collector(options, facts, {.keep = false}, log);
    Collector& collector = *kept;
    CommandQueue& commands = collector.commands();
    const std::uint32_t start = commands.ask(request_start);
    collector.birth().begin(start);
    const std::uint32_t finish = commands.ask(request_finish);
    REQUIRE(collector.launch() == 0);
    REQUIRE(commands.wait(finish, 60'000'000'000));
    CHECK(collector.life().ends());
    CHECK_FALSE(collector.birth().waits());
    CHECK_FALSE(collector.sampling().has_recording());
    CHECK(commands.tid() == 0);  // it was not even prepared
}

TEST_CASE("a forked child that ends while its collector waits neither asks it nor waits for it") {
    Options& options = kept_for_thread<Options>();
    options.out = "/nowhere/%p";
    options.frequency = 1;
    PathFacts facts;
    facts.executable = "unit";
    Log& log = kept_for_thread<Log>(LogMode::quiet, "");
    static Collector* const kept = new Collector(options, facts, {.keep = false}, log);
    Collector& collector = *kept;
    CHECK_FALSE(collector.birth().end());  // it is no child
    collector.birth().begin(collector.commands().ask(request_start));
    CHECK(collector.birth().end());
    CHECK(collector.birth().end());  // a second thread ends too
    CHECK(collector.life().is(Life::State::gone));
    REQUIRE(collector.launch() == 0);
    test::sleep_until_alone();
    CHECK(collector.commands().tid() == 0);
    CHECK_FALSE(collector.sampling().on());  // it was asked to start, too
}

TEST_CASE("a forked child that has used the least CPU time is accounted for, though its collector has not run") {
    Options options;
    options.out = "/nowhere/%p";
    options.frequency = 1;
    options.least_cpu_ns = 5'000'000;
    Log log(LogMode::quiet, "");
    Collector collector(options, {}, {.keep = false}, log);  // never launched
    collector.birth().begin(collector.commands().ask(request_start));
    const std::uint64_t until = host_cpu_ns() + options.least_cpu_ns;
    while (host_cpu_ns() < until) {
    }
    CHECK_FALSE(collector.birth().waits());
    CHECK_FALSE(collector.birth().end());
    CHECK_FALSE(collector.life().ends());
}

TEST_CASE("a forked child's collector still waits when the child has used 10 ms of a long period") {
    Options& options = kept_for_thread<Options>();
    options.out = "/nowhere/%p";
    options.frequency = 1;
    options.least_cpu_ns = 3'600'000'000'000;
    PathFacts facts;
    facts.executable = "unit";
    Log& log = kept_for_thread<Log>(LogMode::quiet, "");
    static Collector* const kept = new Collector(options, facts, {.keep = false}, log);
    Collector& collector = *kept;
    collector.birth().begin(collector.commands().ask(request_start));
    REQUIRE(collector.launch() == 0);
    const std::uint64_t until = host_cpu_ns() + 10'000'000;
    while (host_cpu_ns() < until) {
    }
    CHECK(collector.birth().waits());
    CHECK(collector.birth().end());
}

#include <doctest/doctest.h>

#include <cstdint>
#include <map>

#include "symbolize/raw_profile.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint64_t ms = 1'000'000;

/// Two threads, whose requests take 2 ms each, but for two slow ones; one lies in another.
void play(RawProfile& raw) {
    raw.run({});
    raw.string(0, "checkout");
    raw.string(1, "login");
    raw.mapping(0, {MappingKind::file, 0x1000, 0x1000, 0, 0, "/bin/x", ""});
    raw.mapping(1, {MappingKind::note, 0, 0, 0, 0, "[preempted]", ""});
    raw.location(0, {0, 0x1100});
    raw.location(1, {1, 5});
    raw.stack(1, {0, 0});
    raw.stack(2, {1, 1});
    raw.thread(0, {10, "one"});
    raw.thread(1, {11, "two"});
    raw.thread(2, {10, "one, renamed"});
    const auto sample = [&](std::uint64_t time_ms, ThreadId thread, std::uint64_t weight, StackId stack = 1) {
        raw.sample({time_ms * ms, thread, stack, weight, 1});
    };
    sample(11, 0, 1);
    sample(11, 1, 10);      // the other thread is in no request
    sample(25, 2, 100);     // in the slow one, after the thread was renamed
    sample(45, 0, 1000);    // in the inner one, which is quick
    sample(48, 0, 10'000);  // in the outer one, which is slow
    sample(70, 0, 100'000);
    sample(26, 0, 1'000'000, 2);  // preemption is of no one request
    // As the collector does: when they have ended.
    raw.host(Passing{0, 0, 10 * ms, 2 * ms, Passing::sampled});
    raw.host(Passing{2, 0, 20 * ms, 10 * ms, Passing::sampled});
    raw.host(Passing{0, 0, 44 * ms, 2 * ms, Passing::sampled});
    raw.host(Passing{0, 0, 40 * ms, 10 * ms, Passing::sampled});
    raw.host(Passing{0, 1, 69 * ms, 2 * ms, Passing::sampled});
    const auto two = static_cast<std::uint64_t>(duration_cell(2 * ms)),
               ten = static_cast<std::uint64_t>(duration_cell(10 * ms));
    raw.host(RequestTimes{1000 * ms, "checkout", 0, 1, 10 * ms, 0, {two, 7, ten - two, 2}, false});
    raw.host(RequestTimes{1000 * ms, "login", 0, 1, 2 * ms, 0, {two, 1}, false});
    raw.choose_requests();
}

std::uint64_t weight_of(const SampleFilter& filter, std::uint64_t& requests) {
    RawProfile raw(filter);
    play(raw);
    std::uint64_t sum = 0;
    for (const RawCount& count : raw.counts()) sum += count.weight;
    requests = raw.work.contains("checkout") ? raw.work["checkout"] : 0;
    return sum;
}

}  // namespace

TEST_CASE("a sample is of the request in which its thread was at its time") {
    SampleFilter filter;
    std::uint64_t requests = 0;
    CHECK(weight_of(filter, requests) == 1'111'111);
    CHECK(requests == 0);
    filter.requests = {"checkout", static_cast<std::uint32_t>(duration_cell(5 * ms))};
    CHECK(weight_of(filter, requests) == 10'100);
    CHECK(requests == 2);
    filter.others = true;
    CHECK(weight_of(filter, requests) == 1'001);
    CHECK(requests == 7);
}

TEST_CASE("durations are there for every label") {
    const SampleFilter filter;
    RawProfile raw(filter);
    play(raw);
    REQUIRE(raw.requests.size() == 2);
    CHECK(raw.requests["checkout"].count() == 9);
    CHECK(raw.requests["checkout"].at(0.5) == middle_of_duration_cell(duration_cell(2 * ms)));
    CHECK(raw.requests["checkout"].at(0.99) == middle_of_duration_cell(duration_cell(10 * ms)));  // below the longest
    CHECK(raw.requests["login"].count() == 1);
}

TEST_CASE("what was put together has no passings, so its requests are on no side") {
    SampleFilter filter;
    filter.requests = {"checkout", 0, 5000};
    RawProfile raw(filter);
    play(raw);
    raw.host(RequestTimes{2000 * ms, "checkout", 0, 1, 1, 0, {100, 50}, true});
    CHECK(raw.work["checkout"] == 9);
}

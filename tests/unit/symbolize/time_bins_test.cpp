#include <doctest/doctest.h>

#include "profile_file.hpp"
#include "symbolize/load.hpp"
#include "symbolize/raw_profile.hpp"

using namespace flameprobe;

TEST_CASE("weights are added up by key and millisecond") {
    TimeBins bins;
    bins.add(7, 2'500'000, 3, 1);
    bins.add(5, 0, 1, 1);
    bins.add(7, 2'999'999, 4, 1);
    const auto& entries = bins.entries();
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].key == 5);
    CHECK(entries[1].bin == 2);
    CHECK(entries[1].weight == 7);
    CHECK(entries[1].hits == 2);
    CHECK(bins.bin_ns() == 1'000'000);
}

TEST_CASE("sums stop at the largest number, but those of differences may be negative in between") {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    TimeBins bins;
    bins.add(1, 0, most, 1);
    bins.add(1, 0, 2, most);
    CHECK(bins.entries().front().weight == most);
    CHECK(bins.entries().front().hits == most);
    TimeBins changes;
    changes.hold_differences();
    changes.add(1, 0, 0 - std::uint64_t{5}, 0 - std::uint64_t{1});
    changes.add(1, 0, 7, 2);
    CHECK(changes.entries().front().weight == 2);
    CHECK(changes.entries().front().hits == 1);
}

TEST_CASE("the order of few samples is known in a long run too, that of many by coarser bins") {
    TimeBins few, many(1'000'000, 5'000);
    for (std::uint64_t at = 0; at < 50'000; ++at) {
        if (at % 10 == 0) few.add(at, at * 1'000'000, 1, 1);
        many.add(at, at * 1'000'000, 1, 1);
    }
    CHECK(few.entries().size() == 5'000);
    CHECK(few.bin_ns() == 1'000'000);
    // Of so many no bin is too coarse for a strip of a thousand steps.
    CHECK(many.entries().size() == 50'000);
    CHECK(many.bin_ns() == 64'000'000);
    few.add(1, 65'536 * std::uint64_t{1'000'000}, 1, 1);
    CHECK(few.bin_ns() == 2'000'000);
}

TEST_CASE("a long run has bounded bins, and many samples few entries; no weight is lost") {
    TimeBins bins(100);
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < 50'000; ++at) bins.add(at % 10, at * 1'000'000, 1, 1);
    CHECK(bins.entries().size() <= 200);
    for (const TimeBins::Entry& entry : bins.entries()) {
        CHECK(entry.bin < 1000);
        sum += entry.weight;
    }
    CHECK(sum == 50'000);
    bins.add(1, ~std::uint64_t{0}, 1, 1);
    CHECK(bins.entries().back().bin < 65'536);
}

TEST_CASE("a profile's times are loaded on request, and add up to its counts") {
    const test::ProfileFile file(test::fill_server);
    SampleFilter filter;
    CHECK(load_profile(file.path(), filter, {})->times.empty());
    filter.times = true;
    const auto profile = load_profile(file.path(), filter, {});
    REQUIRE(profile);
    REQUIRE(profile->bin_ns > 0);
    std::vector<std::uint64_t> weights(profile->counts.size()), hits(profile->counts.size());
    for (const TimedWeight& time : profile->times) {
        weights.at(time.count) += time.weight;
        hits.at(time.count) += time.hits;
    }
    for (std::size_t at = 0; at < weights.size(); ++at) {
        CHECK(weights[at] == profile->counts[at].weight);
        CHECK(hits[at] == profile->counts[at].hits);
    }
}

#include "collect/shared_stacks.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

namespace {

std::uint64_t weight_of(const std::vector<Sample>& samples, StackId stack) {
    std::uint64_t weight = 0;
    for (const Sample& sample : samples)
        if (sample.stack == stack) weight += sample.weight;
    return weight;
}

}  // namespace

TEST_CASE("time in page faults is divided in proportion to their numbers, without a remainder") {
    FaultStacks faults;
    CHECK(faults.share(7, 5).empty());
    faults.add(7, {.stack = 1}, 300);
    faults.add(7, {.stack = 2}, 100);
    faults.add(8, {.stack = 3}, 100);
    auto shared = faults.share(7, 41);
    CHECK(weight_of(shared, 1) == 31);
    CHECK(weight_of(shared, 2) == 10);
    CHECK(weight_of(faults.share(7, 4), 1) == 3);  // no fault since: divided as before
    faults.add(7, {.stack = 4}, 1);
    shared = faults.share(7, 3);
    REQUIRE(shared.size() == 1);
    CHECK(shared[0].stack == 4);
    CHECK(shared[0].weight == 3);
    faults.forget(7);
    CHECK(faults.share(7, 3).empty());
    CHECK(weight_of(faults.share(8, 3), 3) == 3);
}

TEST_CASE("with many page faults the time goes to the stacks of the last ones") {
    FaultStacks faults;
    for (StackId stack = 1; stack <= 100; ++stack) faults.add(7, {.stack = stack}, 5);
    std::uint64_t all = 0;
    for (const Sample& sample : faults.share(7, 64)) {
        CHECK(sample.stack > 68);
        CHECK(sample.weight == 2);
        all += sample.weight;
    }
    CHECK(all == 64);
}

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

TEST_CASE("what is left of a thread's time in system calls goes to the last ones, to none more than it stands for") {
    CallStacks calls;
    CHECK(calls.share(7, 5).empty());
    for (StackId stack = 1; stack <= 20; ++stack) calls.add(7, {.stack = stack, .weight = 2});
    const auto shared = calls.share(7, 100);
    CHECK(weight_of(shared, 1) == 0);
    CHECK(weight_of(shared, 20) == 2);
    CHECK(shared[0].hits == 0);  // its sample has been counted
    CHECK(calls.share(7, 5).empty());
}

#include "symbolize/live_heap.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <utility>

using namespace flameprobe;

namespace {

constexpr auto grew = LiveHeap::Change::grew, shrank = LiveHeap::Change::shrank;

std::map<std::uint64_t, std::uint64_t> live_weights(const std::unordered_map<std::uint64_t, LiveHeap::Live>& alive) {
    std::map<std::uint64_t, std::uint64_t> sums;
    for (const auto& [key, live] : alive) sums[key] = live.weight;
    return sums;
}
using LiveWeights = std::map<std::uint64_t, std::uint64_t>;

void change(LiveHeap& heap, LiveHeap::Change change, std::uint64_t time, std::uint64_t key, std::uint64_t bytes) {
    heap.change(change, time, key, bytes, bytes, 1);
}

}  // namespace

TEST_CASE("what is alive at the peak, at the end, and in a window") {
    LiveHeap heap;
    change(heap, grew, 10, 1, 100);
    change(heap, grew, 20, 2, 50);
    change(heap, shrank, 30, 1, 100);
    change(heap, grew, 50, 3, 80);
    change(heap, shrank, 40, 2, 20);  // samples come a little out of order
    CHECK(live_weights(heap.at_peak({}, {})) == LiveWeights{{1, 100}, {2, 50}});
    CHECK(live_weights(heap.at_end({})) == LiveWeights{{2, 30}, {3, 80}});
    CHECK(live_weights(heap.at_end(40)) == LiveWeights{{2, 50}});
    CHECK(live_weights(heap.at_peak(25, {})) == LiveWeights{{1, 100}, {2, 50}});  // it was alive as the window began
    CHECK(live_weights(heap.at_peak(35, {})) == LiveWeights{{2, 30}, {3, 80}});
}

TEST_CASE("the number of allocations is that at the peak of the bytes") {
    LiveHeap heap;
    heap.change(grew, 10, 1, 1000, 0, 0);
    heap.change(grew, 10, 1, 0, 3, 1);
    heap.change(shrank, 20, 1, 1000, 0, 0);
    heap.change(shrank, 20, 1, 0, 3, 1);
    heap.change(grew, 30, 2, 10, 0, 0);
    heap.change(grew, 30, 2, 0, 50, 1);
    CHECK(live_weights(heap.at_peak({}, {})) == LiveWeights{{1, 3}});
    CHECK(live_weights(heap.at_end({})) == LiveWeights{{2, 50}});
}

TEST_CASE("what is alive at the end was allocated when it was, whichever of its stack was freed") {
    LiveHeap heap;
    const auto allocated = [&heap](std::optional<std::uint64_t> to) {
        std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>> times;
        for (const auto& [key, live] : heap.at_end(to)) times[key] = {live.allocated_ns, live.first_allocated_ns};
        return times;
    };
    using Times = std::map<std::uint64_t, std::pair<std::int64_t, std::int64_t>>;
    change(heap, grew, 100, 1, 10);
    change(heap, grew, 200, 1, 10);
    change(heap, grew, 300, 1, 30);
    heap.change(shrank, 250, 1, 10, 10, 1, 150);  // the first of them
    CHECK(allocated({}) == Times{{1, {275, 200}}});
    CHECK(allocated(220) == Times{{1, {150, 100}}});
    CHECK(heap.knows_ages());
    change(heap, grew, 400, 2, 5);
    change(heap, shrank, 450, 2, 5);  // of an unknown age, and nothing is left of it
    CHECK(allocated({}) == Times{{1, {275, 200}}});
    CHECK(heap.knows_ages());
    change(heap, grew, 500, 2, 5);
    allocated({});
    CHECK_FALSE(heap.knows_ages());  // as in earlier versions' profiles
}

TEST_CASE("what was alive as the profile began is older than that") {
    LiveHeap heap;
    heap.change(grew, 0, 1, 40, 40, 1, 1000);
    heap.change(grew, 0, 1, 60, 60, 1, 500);
    change(heap, grew, 100, 2, 7);
    CHECK(live_weights(heap.at_peak({}, {})) == LiveWeights{{1, 100}, {2, 7}});
    CHECK(heap.at_end({}).at(1).allocated_ns == -700);
    CHECK(heap.at_end({}).at(1).first_allocated_ns == -1000);
    heap.change(shrank, 150, 1, 40, 40, 1, 1150);
    const auto alive = heap.at_end({});
    CHECK(live_weights(alive) == LiveWeights{{1, 60}, {2, 7}});
    CHECK(alive.at(1).allocated_ns == -500);
    CHECK(alive.at(1).first_allocated_ns == -500);
    CHECK(alive.at(2).allocated_ns == 100);
}

TEST_CASE("in a compacted profile what was freed is as old as it was in the mean") {
    LiveHeap heap;
    change(heap, grew, 50, 1, 100);  // at any time from 0 to 100
    heap.change(shrank, 150, 1, 100, 100, 9, 98);
    change(heap, grew, 250, 1, 40);
    const auto alive = heap.at_end({});
    CHECK(alive.at(1).allocated_ns == 250);
    CHECK(alive.at(1).first_allocated_ns == 250);
}

TEST_CASE("more freed than allocated, as in a part of a profile, is nothing") {
    LiveHeap heap;
    change(heap, shrank, 10, 1, 100);
    change(heap, grew, 20, 1, 30);
    CHECK(live_weights(heap.at_end({})).empty());
    CHECK(live_weights(LiveHeap().at_peak({}, {})).empty());
}

TEST_CASE("how much was alive at most in each stretch of time") {
    LiveHeap heap;
    change(heap, grew, 10, 1, 100);
    change(heap, grew, 20, 2, 50);
    change(heap, shrank, 25, 1, 100);
    change(heap, grew, 95, 3, 7);
    CHECK(heap.over_time(99, 20) == std::vector<std::uint64_t>{100, 150, 50, 50, 57});
    CHECK(LiveHeap().over_time(0, 1) == std::vector<std::uint64_t>{0});
}

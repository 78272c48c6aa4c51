#include "capture/thread_timers.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "base/clock.hpp"
#include "capture/handler/attach.hpp"
#include "capture/handler_memory.hpp"
#include "collected.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// The collector's side of the timers, without a collector: what a handler would leave is written by hand.
struct Timers {
    HandlerMemory memory = std::move(*HandlerMemory::make({4096, 4, 4}));
    handler::State& state = memory.state();
    ThreadTimers timers;
    MapWatch maps;
    Seen seen;

    Timers() : timers(begin(state)) {}
    void round() {
        timers.find_new(seen, monotonic_ns());
        timers.finish_round(seen, maps, monotonic_ns());
    }
    void stop() {
        state.sampling = false;
        timers.stop();
    }

private:
    static handler::State& begin(handler::State& state) {
        state.period_ns = 10 * ns_per_ms;
        state.signal = SIGPROF;
        state.timers = false;  // no signals
        state.sampling = true;
        return state;
    }
};

}  // namespace

TEST_CASE("what a handler drops is counted as lost, once: while sampling, after it, and of threads that ended") {
    Timers host;
    std::atomic<std::uint32_t> slot{host.state.slot_count};
    std::atomic<bool> end{false};
    std::uint32_t tid = 0;
    std::thread thread([&] {
        tid = my_tid();
        slot = handler::claim_slot(host.state, tid);
        host.state.slots[slot].ready.store(1, std::memory_order_release);
        while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    while (slot == host.state.slot_count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto& dropped = host.state.slots[slot].dropped;
    host.round();
    CHECK(host.seen.lost_samples == 0);
    SUBCASE("while sampling") {
        dropped = 3;
        host.round();
    }
    SUBCASE("since the last round before the stop") {
        dropped = 3;
        host.stop();
        host.round();
    }
    SUBCASE("by a thread that has ended since") {
        dropped = 3;
        end = true;
        thread.join();
        wait_until_gone(tid);
        host.round();
        CHECK(host.seen.ended.at(tid) == 1);
    }
    CHECK(host.seen.lost_samples == 3);
    host.round();
    CHECK(host.seen.lost_samples == 3);
    end = true;
    if (thread.joinable()) thread.join();
}

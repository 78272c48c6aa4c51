#include "capture/thread_timers.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "base/clock.hpp"
#include "capture/handler/handler.hpp"
#include "capture/handler_memory.hpp"
#include "capture/timer_slots.hpp"
#include "collected.hpp"
#include "cpu_log.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// The collector's side of the timers alone: the test writes what a handler would leave.
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
        state.most_timers = 0;  // no signals
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
    CHECK(host.seen.lost_ns == 0);
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
    CHECK(host.seen.lost_ns == 3);
    host.round();
    CHECK(host.seen.lost_ns == 3);
    end = true;
    if (thread.joinable()) thread.join();
}

TEST_CASE("slots of the table are looked at once they have been claimed, also after others were freed") {
    Timers host;
    const auto claim = [&](std::uint32_t tid) { return handler::claim_slot(host.state, tid); };
    TimerSlots slots(host.state);
    CHECK(slots.size() == 0);
    CHECK(claim(1001) == 0);
    CHECK(claim(1002) == 1);
    CHECK(slots.size() == 2);
    slots.free(0);
    CHECK(slots.size() == 2);
    CHECK(slots.owner(1) == 1002);
    CHECK(claim(1003) == 0);
    CHECK(slots.size() == 2);
    CHECK(claim(1004) == 2);
    CHECK(claim(1005) == 3);
    CHECK(claim(1006) == host.state.slot_count);  // the table is full
    CHECK(slots.size() == host.state.slot_count);
}

TEST_CASE("a thread that attached itself while the collector attached it is not told as one without a timer") {
    Timers host;
    host.state.most_timers = ~std::uint64_t{0};
    host.state.period_ns = 3600 * ns_per_second;
    std::atomic<bool> itself{false}, end{false};
    std::thread thread([&] {
        while (!itself) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto slot = handler::claim_slot(host.state, my_tid());
        host.state.slots[slot].by_itself = true;
        handler::make_timer(host.state, slot);
        host.state.slots[slot].ready.store(1, std::memory_order_release);
        itself = false;
        while (!end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    host.round();
    const std::size_t threads = host.timers.slots().with_timer();  // ThreadSanitizer has one too
    itself = true;
    while (itself) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    host.round();
    host.timers.find_new(host.seen, monotonic_ns() + 2 * ns_per_second);  // looks for threads again
    CHECK(host.timers.slots().with_timer() == threads);
    CHECK(host.timers.slots().without_timer() == 0);
    end = true;
    thread.join();
    host.stop();
}

TEST_CASE("a thread that is in our handler when it is looked at is not taken for one that blocks the signal") {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    struct sigaction before {};
    ::sigaction(SIGPROF, &nothing, &before);
    Timers host;
    host.state.most_timers = ~std::uint64_t{0};
    std::atomic<std::uint32_t> tid{0};
    std::atomic<bool> block{false}, blocks{false}, end{false};
    std::thread thread([&] {
        sigset_t prof;
        ::sigemptyset(&prof);
        ::sigaddset(&prof, SIGPROF);
        tid = my_tid();
        while (!end) {
            const bool wanted = block;
            if (wanted != blocks) ::pthread_sigmask(wanted ? SIG_BLOCK : SIG_UNBLOCK, &prof, nullptr);
            blocks = wanted;
        }
    });
    const auto wait_for = [&](std::uint64_t cpu_ns) {  // of the thread, from now on
        const std::uint64_t until = Moment::of(tid).cpu_ns + cpu_ns;
        while (Moment::of(tid).cpu_ns < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    while (tid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    host.round();
    block = true;
    while (!blocks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    wait_for(60 * ns_per_ms);
    host.round();  // looks like a thread that waits for a CPU in the handler: signal blocked, and no sample yet
    CHECK_FALSE(host.seen.unsampled_ns.contains(tid));
    SUBCASE("the handler ends") {
        block = false;
        while (blocks) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        wait_for(50 * ns_per_ms);
        host.round();
        CHECK_FALSE(host.seen.unsampled_ns.contains(tid));
    }
    SUBCASE("it uses more CPU time than any handler: the host blocks the signal") {
        wait_for(50 * ns_per_ms);
        host.round();
        CHECK(host.seen.unsampled_ns[tid] >= 80 * ns_per_ms);
        handler::CellHead pending{};  // delivered at last: its periods are in that time
        while (host.state.owners[pending.slot] != tid) REQUIRE(++pending.slot < host.state.slot_count);
        pending.generation = host.state.slots[pending.slot].generation;
        pending.weight = 8;
        CHECK(host.timers.account(pending) == 0);
    }
    end = true;
    thread.join();
    host.stop();
    ::sigaction(SIGPROF, &before, nullptr);
}

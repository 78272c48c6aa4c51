#include "collect/wait_registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

using namespace flameprobe;

namespace {

using Kind = WaitRegistry::Kind;
constexpr std::uint64_t ms = 1'000'000, whole_second = 1'000'000'000;

struct ToldSpans {
    std::vector<WaitRegistry::Span> spans;
    WaitRegistry registry;

    explicit ToldSpans(std::uint64_t least_ns = 0)
        : registry(least_ns, 10 * ms, [this](const WaitRegistry::Span& span) { spans.push_back(span); }) {}

    void out(std::uint64_t time, std::uint32_t tid = 1, bool preempted = false) {
        registry.switched({time, tid, true, preempted});
    }
    void in(std::uint64_t time, std::uint32_t tid = 1) { registry.switched({time, tid, false, false}); }
    /// Reads the wait in progress of thread `tid` as `stack`.
    void look(std::uint64_t time, StackId stack, std::uint32_t tid = 1, std::uint64_t took = 1000) {
        look(time, {stack, stack}, tid, took);
    }
    void look(std::uint64_t time, const WaitPlace& place, std::uint32_t tid = 1, std::uint64_t took = 1000) {
        std::vector<WaitRegistry::Wait> unread;
        registry.unread(unread);
        for (const auto& wait : unread)
            if (wait.tid == tid) registry.read(wait, place, time + took);
    }
    /// The scheduler's account of each thread that wants it, read by `time`.
    std::size_t read_accounts(std::uint64_t time, std::uint64_t cpu, std::uint64_t delay) {
        std::vector<std::uint32_t> tids;
        registry.without_account(time, 8, tids);
        for (const std::uint32_t tid : tids) registry.account_read(tid, cpu, delay, time);
        return tids.size();
    }
    std::uint64_t sum(Kind kind, StackId stack = 0) const {
        std::uint64_t ns = 0;
        for (const auto& span : spans)
            if (span.kind == kind && (stack == 0 || span.stack == stack)) ns += span.ns;
        return ns;
    }
};

}  // namespace

TEST_CASE("a wait's whole time goes to the stack that was read during it") {
    ToldSpans told;
    told.in(1 * whole_second);
    told.out(2 * whole_second);
    told.look(2 * whole_second + 5 * ms, 7);
    told.in(2 * whole_second + 100 * ms);
    told.registry.settle_all(3 * whole_second);
    CHECK(told.sum(Kind::waited, 7) == 100 * ms);
    CHECK(told.registry.totals().blocked_ns == 100 * ms);
}

TEST_CASE("waits without a look get the stacks read in the same thread's other waits, or count as not sampled") {
    ToldSpans told;
    for (std::uint64_t i = 0; i < 10; ++i) {
        told.out(whole_second + 2 * i * ms);
        if (i == 4) told.look(whole_second + 2 * i * ms + 1, 7);
        told.in(whole_second + (2 * i + 1) * ms);
        told.out(whole_second + 2 * i * ms, 2);
        told.in(whole_second + (2 * i + 1) * ms, 2);
    }
    told.registry.settle_all(2 * whole_second);
    CHECK(told.sum(Kind::waited) == 10 * ms);
    CHECK(told.sum(Kind::unsampled) == 10 * ms);
    for (const auto& span : told.spans) CHECK((span.kind == Kind::waited) == (span.tid == 1));
}

TEST_CASE("a stack is discarded if the thread woke before it had been read") {
    ToldSpans told;
    told.out(whole_second);
    told.look(whole_second + ms, 7);  // until 1 us later
    told.in(whole_second + ms + 500);
    told.registry.settle_all(2 * whole_second);
    CHECK(told.sum(Kind::waited) == 0);
    CHECK(told.sum(Kind::unsampled) == ms + 500);
    CHECK(told.registry.totals().waits_raced == 1);
}

TEST_CASE("preemption is reported apart from waits, on the last CPU stack") {
    ToldSpans told;
    told.in(whole_second);
    told.registry.set_cpu_stack(1, 9);
    told.out(whole_second + ms, 1, true);
    told.in(whole_second + 4 * ms);
    told.registry.settle_all(whole_second + 5 * ms);
    CHECK(told.sum(Kind::preempted, 9) == 3 * ms);
    CHECK(told.sum(Kind::waited) == 0);
}

TEST_CASE("a new thread counts as preempted until it runs; after its end nothing is reported of it") {
    ToldSpans told;
    told.registry.started(5, whole_second);
    told.in(whole_second + 2 * ms, 5);
    told.registry.ended(5, whole_second + 3 * ms);
    told.out(whole_second + 4 * ms, 5);
    told.registry.settle_all(2 * whole_second);
    CHECK(told.sum(Kind::preempted) == 2 * ms);
    CHECK(told.sum(Kind::unsampled) == 0);
}

TEST_CASE("a wait in a deadlock counts while it goes on, also of a thread that never woke") {
    for (const bool lasts : {false, true}) {
        const auto cycle = std::make_shared<LockCycle>();
        cycle->lasts = lasts;
        const auto held = std::make_shared<Held>();
        held->cycle = cycle;
        const auto looks = std::make_shared<HeldLooks>(LockCycle::Member{});
        looks->add(held);
        ToldSpans told;
        told.out(1 * whole_second);
        told.look(1 * whole_second + ms, WaitPlace{7, 7, looks});
        std::vector<HeldLooks*> again;
        told.registry.held(4, again);
        CHECK(again == std::vector{looks.get()});
        told.registry.settle(2 * whole_second);
        CHECK(told.sum(Kind::waited, 7) == (lasts ? whole_second : 0));
        told.registry.settle_all(3 * whole_second);
        CHECK(told.sum(Kind::waited, 7) == (lasts ? 2 * whole_second : 0));
        CHECK(told.sum(Kind::idle, 7) == (lasts ? 0 : 2 * whole_second));
        for (const auto& span : told.spans) CHECK(span.held == looks);
    }
}

TEST_CASE("waits for locks are looked at again in turn, as long as they go on") {
    ToldSpans told;
    std::vector<std::shared_ptr<HeldLooks>> looks;
    for (std::uint32_t tid = 1; tid <= 4; ++tid) {
        told.out(whole_second, tid);
        looks.push_back(std::make_shared<HeldLooks>(LockCycle::Member{}));
        looks.back()->add(std::make_shared<Held>());
        told.look(whole_second + ms, WaitPlace{7, 7, looks.back()}, tid);
    }
    std::vector<HeldLooks*> again;
    told.registry.held(3, again);
    CHECK(again == std::vector{looks[0].get(), looks[1].get(), looks[2].get()});
    told.in(whole_second + 2 * ms, 4);
    told.out(whole_second + 3 * ms, 4);  // in a wait that was not read
    told.in(whole_second + 2 * ms, 2);
    told.registry.held(3, again);
    CHECK(again == std::vector{looks[0].get(), looks[2].get()});
    told.registry.settle_all(2 * whole_second);
    told.registry.held(3, again);
    CHECK(again.empty());
}

TEST_CASE("the accounts of many threads are read in turn") {
    ToldSpans told;
    constexpr std::uint32_t threads = 200;
    for (std::uint32_t tid = 1; tid <= threads; ++tid) {
        told.in(whole_second, tid);
        told.out(whole_second + ms, tid);
    }
    std::vector<std::uint32_t> some, all;
    for (int look = 0; look < 50; ++look) {
        told.registry.without_account(2 * whole_second, 4, some);
        CHECK(some.size() == 4);
        for (const std::uint32_t tid : some) told.registry.account_read(tid, 0, 0, 2 * whole_second);
        all.insert(all.end(), some.begin(), some.end());
    }
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());
    told.registry.without_account(2 * whole_second, 4, some);
    CHECK(some.empty());
}

TEST_CASE("of many waits each that is not read is given, and none that was read or is over") {
    ToldSpans told;
    constexpr std::uint32_t threads = 1000;
    for (std::uint32_t tid = 1; tid <= threads; ++tid) told.out(whole_second + tid, tid);
    std::vector<WaitRegistry::Wait> unread;
    for (std::uint32_t round = 0; round < 20; ++round) {
        told.registry.unread(unread);
        std::erase_if(unread, [&](const auto& wait) { return !told.registry.is_unread(wait); });
        CHECK(unread.size() == threads - 40 * round);
        CHECK(std::ranges::is_sorted(unread, std::greater(), &WaitRegistry::Wait::number));
        for (std::uint32_t i = 0; i < 20; ++i) {
            told.registry.read(unread[i], {.stack = 7}, 2 * whole_second + 1);
            told.in(3 * whole_second, unread[unread.size() - 1 - i].tid);
        }
    }
}

TEST_CASE("a thread that was blocked before there were records of it is found by a look") {
    ToldSpans told;
    told.registry.started(1, whole_second);
    told.registry.doubt_starts(whole_second + ms);
    told.look(whole_second + ms, 7);  // too early: it may not have had a CPU yet
    told.registry.doubt_starts(whole_second + 100 * ms);
    told.look(whole_second + 100 * ms, 7);
    told.in(2 * whole_second);
    told.registry.started(2, 2 * whole_second);
    told.registry.doubt_starts(3 * whole_second);
    std::vector<WaitRegistry::Wait> unread;
    told.registry.unread(unread);
    REQUIRE(unread.size() == 1);
    told.registry.runs(unread[0]);  // wants a CPU
    told.in(3 * whole_second, 2);
    told.registry.settle_all(3 * whole_second);
    CHECK(told.sum(Kind::waited, 7) == whole_second);
    CHECK(told.sum(Kind::preempted) == whole_second);
}

TEST_CASE("threads that never woke are reported as idle") {
    ToldSpans told;
    told.registry.begin(whole_second, {1, 2});
    told.look(whole_second + ms, 7);
    told.registry.runs({.tid = 2, .number = 2});
    told.out(whole_second + ms, 2);
    told.registry.settle(3 * whole_second);
    CHECK(told.spans.empty());
    told.registry.settle_all(4 * whole_second);
    CHECK(told.sum(Kind::idle, 7) == 3 * whole_second);
    CHECK(told.sum(Kind::idle) == 3 * whole_second + 2999 * ms);
    CHECK(told.sum(Kind::waited) == 0);
}

TEST_CASE("a long wait is reported while it goes on, and not twice") {
    ToldSpans told;
    told.out(whole_second);
    told.in(whole_second + ms);
    told.out(2 * whole_second);
    told.look(2 * whole_second + ms, 7);
    told.registry.settle(3 * whole_second);
    CHECK(told.sum(Kind::waited, 7) == whole_second + ms);
    told.in(4 * whole_second);
    told.registry.settle_all(4 * whole_second);
    CHECK(told.sum(Kind::waited, 7) == 2 * whole_second + ms);
}

TEST_CASE("waits shorter than asked for are hidden, and counted") {
    ToldSpans told(5 * ms);
    told.out(whole_second);
    told.in(whole_second + 4 * ms);
    told.out(2 * whole_second);
    told.in(2 * whole_second + 6 * ms);
    told.registry.settle_all(3 * whole_second);
    CHECK(told.sum(Kind::unsampled) == 6 * ms);
    CHECK(told.registry.totals().waits_hidden == 1);
    CHECK(told.registry.totals().hidden_ns == 4 * ms);
}

TEST_CASE("where records were lost, time counts as lost unless a look found the thread waiting") {
    ToldSpans told;
    for (const std::uint32_t tid : {1, 2, 3}) {
        told.in(whole_second, tid);
        told.out(2 * whole_second, tid);
    }
    told.registry.lost(3 * whole_second);
    told.look(3 * whole_second + ms, 7, 2);
    told.in(5 * whole_second, 1);
    told.in(5 * whole_second, 2);
    told.out(5 * whole_second, 3);  // it ran
    told.registry.settle_all(5 * whole_second);
    CHECK(told.sum(Kind::unsampled) == 2 * whole_second);
    CHECK(told.sum(Kind::waited, 7) == 3 * whole_second);
    CHECK(told.sum(Kind::lost) == 2 * whole_second);
}

// Waits of 0.2, 1 and 20 ms of one thread, looked at every 10 ms: each must get its share, also where every
// second look takes longer than the shortest waits.
TEST_CASE("waits of very different length get their shares of the time") {
    ToldSpans told;
    std::uint64_t slow_look = 1000;
    std::uint64_t blind = 0;
    double part = 1;
    SUBCASE("quick looks") {}
    SUBCASE("slow looks") { slow_look = ms / 3; }
    SUBCASE("none begins just before a look, since the collector had the CPU") { blind = ms / 10; }
    SUBCASE("one of five, drawn by lot, reads it") { part = 0.2; }
    bool slow = false;
    std::minstd_rand random(1);
    std::exponential_distribution<double> pause(1.0 / (10.0 * ms * part));
    std::bernoulli_distribution reads(part);
    std::map<StackId, std::uint64_t> truth;
    std::uint64_t now = whole_second, next_look = now;
    std::uint64_t last_look = now;
    for (int i = 0; i < 60'000; ++i) {
        const StackId stack = i % 100 == 0 ? 3 : i % 4 == 0 ? 2 : 1;
        const std::uint64_t lasts = stack == 3 ? 20 * ms : stack == 2 ? ms : ms / 5;
        truth[stack] += lasts;
        told.out(now);
        for (; next_look < now + lasts; next_look += static_cast<std::uint64_t>(pause(random))) {
            told.registry.looks().add_pause(next_look - last_look, part);
            last_look = next_look;
            if (!reads(random)) continue;
            slow = !slow;
            if (next_look >= now + blind) told.look(next_look, stack, 1, slow ? slow_look : 1000);
        }
        told.in(now + lasts);
        now += lasts + ms / 10;
        told.registry.settle(now);
    }
    told.registry.settle_all(now);
    std::uint64_t all = 0;
    for (const auto& [stack, ns] : truth) all += ns;
    for (const auto& [stack, ns] : truth) {
        const double share = static_cast<double>(ns) / static_cast<double>(all);
        const double got = static_cast<double>(told.sum(Kind::waited, stack)) / static_cast<double>(all);
        CHECK(std::abs(got - share) < 0.03);
    }
    CHECK(told.sum(Kind::waited) + told.sum(Kind::unsampled) == all);
}

TEST_CASE("the difference between a thread's clock and its records is subtracted from its waits") {
    constexpr std::uint64_t run = ms, wait = 2 * ms;
    constexpr int rounds = 2000;
    for (const std::int64_t beyond : {5'000, -4'000}) {
        CAPTURE(beyond);
        ToldSpans told;
        std::uint64_t now = whole_second, cpu = 0;
        told.in(now);
        for (int i = 0; i < rounds; ++i) {
            told.out(now += run);
            cpu += run + static_cast<std::uint64_t>(beyond);
            if (i % 7 == 0) {
                const std::size_t read = told.read_accounts(now + 1, cpu, 0);
                if (i == 0) CHECK(read == 1);
                told.look(now + 1, 3);
            }
            told.in(now += wait);
        }
        told.registry.settle_all(now);
        const auto life = static_cast<double>(now - whole_second);
        CHECK(static_cast<double>(told.sum(Kind::waited) + cpu) == doctest::Approx(life).epsilon(0.0003));
    }
}

TEST_CASE("the time between being woken and running is preemption, added to that of the records") {
    ToldSpans told;
    std::uint64_t now = whole_second, cpu = whole_second, delay = 5 * whole_second, waited = 0, late = 0, preempted = 0;
    for (int i = 0; i < 2000; ++i) {
        told.out(now);
        told.registry.set_cpu_stack(1, 9);
        told.read_accounts(now + 1000, cpu, delay);
        told.look(now + 1000, 7);
        const std::uint64_t late_by = i % 3 * ms / 10;
        told.in(now + ms + late_by);
        now += ms + late_by + ms / 10;
        if (i % 5 == 0) {
            told.out(now, 1, true);
            told.in(now += ms / 5);
            preempted += ms / 5;
            delay += ms / 5;
        }
        waited += ms;
        late += late_by;
        delay += late_by;
        now += ms / 10;
        cpu += ms / 5;
        told.registry.settle(now);
    }
    told.registry.settle_all(now);
    const auto all = waited + late + preempted;
    CHECK(told.sum(Kind::waited, 7) + told.sum(Kind::preempted, 9) == all);
    CHECK(told.sum(Kind::waited, 7) >= waited);
    CHECK(told.sum(Kind::waited, 7) < waited + late / 10);  // the account was not read for the last hundred waits
    CHECK(told.registry.totals().blocked_ns == told.sum(Kind::waited));
    CHECK(told.registry.totals().preempted_ns == told.sum(Kind::preempted));
}

TEST_CASE("time in run queues is known of a thread that no look finds blocked") {
    for (const bool preempted : {false, true}) {
        CAPTURE(preempted);
        ToldSpans told;
        std::uint64_t now = whole_second, cpu = 0, delay = 0;
        told.in(now);
        for (int i = 0; i < 2000; ++i) {
            told.out(now += ms / 2);
            if (i == 500) told.look(now, 7);
            told.in(now += ms);  // 0.1 ms blocked, 0.9 ms in a run queue
            delay += 9 * ms / 10;
            cpu += ms / 2;
            if (preempted) {
                told.out(now += ms / 2, 1, true);
                cpu += ms / 2;
            }
            told.read_accounts(now + ms / 10, cpu, delay);
            if (preempted) {
                told.in(now += ms);
                delay += ms;
            }
            told.registry.settle(now);
        }
        told.registry.settle_all(now);
        const std::uint64_t waited = told.registry.totals().blocked_ns;
        CHECK(waited == told.sum(Kind::waited) + told.sum(Kind::unsampled));
        CHECK(waited >= 200 * ms);
        CHECK(waited <= 300 * ms);  // the account was not read for the last hundred switches
    }
}

TEST_CASE("time in run queues is known of a thread that switches seldom, from its birth on") {
    ToldSpans told;
    std::uint64_t now = whole_second, delay = 30 * ms;
    told.registry.started(1, now);
    told.in(now += delay);
    for (std::uint64_t i = 0; i < 20; ++i) {
        told.out(now += ms);
        told.look(now + 1000, 7);
        told.read_accounts(now + 1000, (i + 1) * ms, delay);
        told.in(now += 200 * ms);  // 50 ms of them in a run queue
        delay += 50 * ms;
        told.registry.settle(now);
    }
    told.registry.settle_all(now);
    CHECK(told.sum(Kind::waited) <= 20 * 150 * ms + 2 * 50 * ms);  // the account was not read after the last ones
    CHECK(told.sum(Kind::waited) >= 20 * 150 * ms);
}

TEST_CASE("an account of a thread that left its state while it was read is not used") {
    ToldSpans told;
    std::uint64_t now = whole_second;
    told.in(now);
    for (int i = 0; i < 1000; ++i) {
        told.out(now += ms);
        told.look(now, 7);
        told.read_accounts(now + 2 * ms, 0, static_cast<std::uint64_t>(i) * ms);  // it would say: all in run queues
        told.in(now += ms);
    }
    told.registry.settle_all(now);
    CHECK(told.sum(Kind::waited) == 1000 * ms);
}

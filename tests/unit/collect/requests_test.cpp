#include "collect/requests.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collect/pipeline.hpp"
#include "outside/reader.hpp"
#include "profile/durations.hpp"

using namespace flameprobe;
using namespace flameprobe::passings;

namespace {

struct KeptRequests : PartialSink {
    std::vector<RequestTimes> times;
    std::vector<Passing> passings;
    void host(const HostRecord& record) override {
        if (const auto* const one = std::get_if<RequestTimes>(&record)) times.push_back(*one);
        if (const auto* const one = std::get_if<Passing>(&record)) passings.push_back(*one);
    }
    Durations durations(const std::string& label) const {
        Durations all;
        for (const RequestTimes& one : times)
            if (one.label == label) all.add(one);
        return all;
    }
};

/// The host's side, with times by the kernel's clock, which are even.
class Host {
public:
    Host() : pool_(std::make_unique<Pool>()) {
        state_.clock = Clock::kernel;
        state_.pool = pool_.get();
        read_passings_of(&state_);
    }
    ~Host() { read_passings_of(nullptr); }

    /// Into the thread's chunk, which is dropped when it is full.
    void pass(const char* label, std::uint64_t begin_ns, std::uint64_t end_ns, bool failed = false,
              std::uint32_t tid = 1) {
        if (at_ == Chunk::size) {
            pool_->chunks[chunk_++].dropped = 1;
            at_ = 0;
        }
        Chunk& chunk = pool_->chunks[chunk_];
        chunk.owner = static_cast<std::uint32_t>(::getpid());
        Entry& entry = chunk.entries[at_++];
        chunk.claimed = at_;
        entry.begin = begin_ns, entry.end = end_ns, entry.tid = tid;
        entry.what = (state_.names.slot(label) + 1) | (failed ? failed_bit : 0);
    }
    void pass_beyond(const char* label, std::uint64_t ns) {
        Beyond& beyond = pool_->beyond[state_.names.slot(label)];
        ++beyond.cells[duration_cell(ns)];
        beyond.sum_ns += ns;
        beyond.longest_ns = std::max(beyond.longest_ns.load(), ns);
        pool_->any_beyond = true;
    }
    Pool& pool() { return *pool_; }

private:
    State state_;
    std::unique_ptr<Pool> pool_;
    std::uint32_t chunk_ = 0, at_ = 0;
};

/// A profile that begins at 0.
struct Profile {
    KeptRequests kept;
    Pipeline pipeline{kept, false, 0, 10'000'000, static_cast<std::uint32_t>(::getpid())};
    Requests requests{pipeline};
};

constexpr std::uint64_t one_ms = 1'000'000;

}  // namespace

TEST_CASE("all requests are counted, and percentiles are right within 0.4 %") {
    Host host;
    Profile profile;
    auto& [kept, pipeline, requests] = profile;
    std::uint64_t now = 1000 * one_ms, sum = 0;
    std::vector<std::uint64_t> log;
    // More than a chunk, and more than a second.
    for (std::uint64_t i = 0; i < 3000; ++i) {
        const std::uint64_t ns = 2 * (500'000 + 397 * i % 1'000'000);
        host.pass("checkout", now, now + ns, i % 10 == 0);
        log.push_back(ns), sum += ns;
        now += ns;
        if (i % 200 == 0) requests.drain(now + 2);
    }
    requests.write();
    const Durations all = kept.durations("checkout");
    std::ranges::sort(log);
    CHECK(all.count() == 3000);
    CHECK(all.failed == 300);
    CHECK(all.sum_ns == sum);
    CHECK(all.longest_ns == log.back());
    for (const double part : {0.5, 0.9, 0.99, 0.999}) {
        const auto expected = static_cast<double>(log[static_cast<std::size_t>(part * 3000) - 1]);
        CHECK(static_cast<double>(all.at(part)) == doctest::Approx(expected).epsilon(0.004));
    }
    CHECK(kept.times.size() > 1);                                                               // by second
    for (const Chunk& chunk : std::span(host.pool().chunks).first(8)) CHECK(chunk.owner == 0);  // read and dropped
}

TEST_CASE("a passing is kept if its thread was sampled in it") {
    Host host;
    Profile profile;
    auto& [kept, pipeline, requests] = profile;
    const auto sampled = [&] {
        std::vector<std::pair<std::uint64_t, bool>> all;
        for (const Passing& one : kept.passings)
            all.emplace_back(one.begin_ns / one_ms, (one.flags & Passing::sampled) != 0);
        return all;
    };
    requests.sampled(1, 15 * one_ms);
    requests.sampled(2, 25 * one_ms);
    host.pass("a", 10 * one_ms, 14 * one_ms);
    host.pass("a", 14 * one_ms, 16 * one_ms);
    host.pass("a", 20 * one_ms, 30 * one_ms);
    requests.drain(100 * one_ms);
    CHECK(sampled() == std::vector<std::pair<std::uint64_t, bool>>{{10, false}, {14, true}, {20, false}});
    kept.passings.clear();
    // A long one, which began before all that was read: its sample was told long ago.
    host.pass("a", 12 * one_ms, 290 * one_ms);
    host.pass("a", 16 * one_ms, 295 * one_ms);
    requests.drain(300 * one_ms);
    CHECK(sampled() == std::vector<std::pair<std::uint64_t, bool>>{{12, true}, {16, false}});
}

TEST_CASE("what ends after a drain began is read by the next one, when its samples are known") {
    Host host;
    Profile profile;
    auto& [kept, pipeline, requests] = profile;
    host.pass("a", 10 * one_ms, 20 * one_ms);
    host.pass("a", 30 * one_ms, 40 * one_ms);
    requests.drain(35 * one_ms);
    CHECK(kept.passings.size() == 1);
    requests.sampled(1, 36 * one_ms);
    requests.drain(50 * one_ms);
    REQUIRE(kept.passings.size() == 2);
    CHECK((kept.passings.back().flags & Passing::sampled) != 0);
}

TEST_CASE("requests for which there was no chunk are counted, and told apart") {
    Host host;
    Profile profile;
    auto& [kept, pipeline, requests] = profile;
    host.pass("a", 10 * one_ms, 12 * one_ms);
    for (int i = 0; i < 5; ++i) host.pass_beyond("a", 3 * one_ms);
    requests.drain(50 * one_ms);
    requests.write();
    const Durations all = kept.durations("a");
    CHECK(all.count() == 6);
    CHECK(all.unseen == 5);
    CHECK(all.sum_ns == 17 * one_ms);
    CHECK(all.longest_ns == 3 * one_ms);
}

TEST_CASE("the slowest of about the last minute are kept, however rarely threads are sampled") {
    Host host;
    Profile profile;
    auto& [kept, pipeline, requests] = profile;
    std::uint64_t now = 1000 * one_ms;
    unsigned slow = 0;
    for (unsigned i = 0; i < 20'000; ++i) {
        const bool is_slow = i % 200 == 199;
        const std::uint64_t ns = is_slow ? 50 * one_ms : one_ms;
        host.pass("a", now, now + ns);
        now += ns;
        slow += is_slow ? 1 : 0;
        if (i % 300 == 0) requests.drain(now + 2);
    }
    requests.write();
    unsigned kept_slow = 0, by_lot = 0, others = 0;
    for (const Passing& one : kept.passings) {
        const bool is_slow = one.ns == 50 * one_ms;
        kept_slow += is_slow && (one.flags & Passing::slow) != 0 ? 1 : 0;
        others += !is_slow && (one.flags & Passing::slow) != 0 ? 1 : 0;
        by_lot += (one.flags & Passing::by_lot) != 0 ? 1 : 0;
    }
    CHECK(kept_slow > slow * 9 / 10);  // not those of the first second, before which nothing is known
    CHECK(kept_slow <= slow);
    CHECK(others == 0);
    CHECK(by_lot >= 1000);
    CHECK(by_lot < 1000 * 6);  // 1,000 times 1 + ln(20)
}

TEST_CASE("the counter is read as the monotonic clock, and given up where its rate changes") {
    CounterClock clock;
    CHECK(!clock.ready());
    CHECK(clock.add({1000, 50'000'000}));
    CHECK(clock.add({1000 + 300'000'000, 150'000'000}));  // 3 ticks a nanosecond
    REQUIRE(clock.ready());
    CHECK(clock.ns(1000 + 150'000'000) == 100'000'000);
    CHECK(clock.ns(1000 + 600'000'000) == 250'000'000);
    CHECK(clock.tick_ns() == doctest::Approx(1.0 / 3));
    CHECK(clock.add({1000 + 600'030'000, 250'000'000}));  // 50 ppm: another clock's correction
    CHECK(!clock.add({1000 + 900'600'000, 350'000'000}));
    CHECK(!clock.add({500, 450'000'000}));  // it went back
    const CounterClock::Pair now = CounterClock::read();
    CHECK(now.ns <= monotonic_ns());
}

TEST_CASE("cells of durations are at most 0.8 % wide") {
    std::size_t last = 0;
    for (std::uint64_t ns = 0; ns < (std::uint64_t{1} << 41); ns += ns / 300 + 1) {
        const std::size_t cell = duration_cell(ns);
        CHECK(cell >= last);
        CHECK(cell < duration_cells);
        CHECK(begin_of_duration_cell(cell) <= ns);
        if (cell + 1 < duration_cells) {
            CHECK(begin_of_duration_cell(cell + 1) > ns);
            CHECK((begin_of_duration_cell(cell + 1) - begin_of_duration_cell(cell)) * 128 <=
                  std::max<std::uint64_t>(ns, 128));
        }
        last = cell;
    }
    CHECK(last == duration_cells - 1);
}

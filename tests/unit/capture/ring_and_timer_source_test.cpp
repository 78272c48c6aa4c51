#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "capture/event_source.hpp"
#include "collected.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// Rings that sample nothing, and remember the thread that they met.
class NoRings final : public EventSource {
public:
    explicit NoRings(std::uint32_t& met) : met_(met) {
        facts_.meets_threads = true;
        facts_.engine = EngineKind::ring;
        facts_.frequency = 99;
        facts_.period_ns = 1'000'000'000 / 99;
    }
    Result<void> start() override { return {}; }
    void stop() override {}
    void drain(RecordSink&) override {}
    const CaptureFacts& facts() const override { return facts_; }
    bool has_samples() const override { return false; }
    void thread_begins(const NewThread& thread) override { met_ = thread.tid; }

private:
    CaptureFacts facts_;
    std::uint32_t& met_;
};

}  // namespace

TEST_CASE("with CPU timers beside them, rings also meet new threads") {
    std::uint32_t met = 0;
    std::unique_ptr<EventSource> rings = std::make_unique<NoRings>(met);
    const auto both = add_kernel_time(rings, {.frequency = 99});
    REQUIRE(both);
    CHECK((*both)->facts().meets_threads);
    (*both)->thread_begins({77});
    CHECK(met == 77);
}

TEST_CASE("rings with CPU timers have samples if a thread makes system calls") {
    std::uint32_t met = 0;
    std::unique_ptr<EventSource> rings = std::make_unique<NoRings>(met);
    const auto both = add_kernel_time(rings, {.frequency = 99});
    REQUIRE(both);
    CHECK_FALSE((*both)->has_samples());
    std::atomic<bool> runs{false}, end{false};
    std::thread calls([&] {
        runs = true;
        while (!end) ::syscall(SYS_getppid);
    });
    while (!runs) ::usleep(1000);  // until then libc blocks all signals in it, and its timer would not be armed
    REQUIRE((*both)->start());
    while (!(*both)->has_samples()) ::usleep(1000);
    (*both)->stop();
    end = true;
    calls.join();
    Seen seen;
    (*both)->drain(seen);
    CHECK_FALSE((*both)->has_samples());
}

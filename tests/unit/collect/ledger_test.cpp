#include "collect/ledger.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/hash.hpp"
#include "collect/pipeline.hpp"
#include "kept.hpp"

using namespace flameprobe;

TEST_CASE("CPU time that could not be sampled is counted as lost, but for a thread that runs in the kernel only") {
    for (const bool in_kernel : {false, true}) {
        Kept kept;
        const auto self = static_cast<std::uint32_t>(::getpid());
        Pipeline pipeline(kept, false, 0, 1000, self);
        pipeline.take(TimeNotSampled{self, 2600, in_kernel});
        REQUIRE(kept.samples.size() == 1);
        CHECK(kept.samples[0].weight == 2600);
        CHECK(kept.samples[0].hits == 0);
        CHECK(kept.path(kept.samples[0].stack) == std::vector<MappingKind>{MappingKind::note});
        CHECK(pipeline.summary().lost == (in_kernel ? 0 : 2600));
    }
}

TEST_CASE("lost samples of an event that is no clock are of an unnamed thread") {
    Kept kept;
    constexpr std::uint64_t no_clock = 0;
    Pipeline pipeline(kept, false, 0, no_clock, static_cast<std::uint32_t>(::getpid()));
    pipeline.take(SamplesLost{7});
    REQUIRE(kept.samples.size() == 1);
    CHECK(kept.samples[0].weight == 7);
    CHECK(kept.path(kept.samples[0].stack) == std::vector<MappingKind>{MappingKind::note});
    REQUIRE(kept.threads.size() == 2);
    CHECK(kept.threads[1].tid == 0);
    CHECK(kept.samples[0].thread == 1);
    CHECK(pipeline.summary().lost == 7);
    CHECK(pipeline.summary().samples == 0);
}

TEST_CASE("a thread that runs without records and samples has its name") {
    Kept kept;
    constexpr std::uint64_t period = 10'000'000'000;
    Pipeline pipeline(kept, false, 0, period, static_cast<std::uint32_t>(::getpid()));
    std::atomic<bool> named{false}, go_on{true};
    std::thread thread([&] {
        ::prctl(PR_SET_NAME, "unseen");
        named = true;
        while (go_on) ::usleep(1000);
    });
    while (!named) ::usleep(1000);
    pipeline.threads().read_all_clocks();
    pipeline.ledger().write_rests(period);
    CHECK(std::ranges::any_of(kept.threads, [](const auto& kept_thread) { return kept_thread.name == "unseen"; }));
    CHECK(std::ranges::none_of(kept.threads, [](const auto& kept_thread) { return kept_thread.name.empty(); }));
    go_on = false;
    thread.join();
}

TEST_CASE("threads that were never sampled have their CPU time on their start routine") {
    Kept kept;
    const auto self = static_cast<std::uint32_t>(::getpid());
    Pipeline pipeline(kept, false, 0, 1000, self);
    const auto routine = reinterpret_cast<std::uint64_t>(&::getpid);
    RawMapping library;
    library.start = routine & ~0xfffULL;
    library.size = 0x2000;
    library.path = "/lib/some.so";
    pipeline.take(library);
    for (std::uint32_t i = 0; i < 40; ++i)
        pipeline.ledger().thread_ended({.tid = 0x7ffffff0 + i, .cpu_ns = 250, .routine = routine, .name = "brief"});
    CHECK(kept.samples.empty());
    pipeline.ledger().write_rests(10000);
    std::uint64_t weight = 0;
    for (const auto& sample : kept.samples) {
        weight += sample.weight;
        CHECK(sample.hits == 0);
        CHECK(kept.path(sample.stack) == std::vector<MappingKind>{MappingKind::file, MappingKind::note});
        CHECK(kept.threads[sample.thread].name == "brief");
    }
    CHECK(weight == 10000);
    CHECK(pipeline.ledger().not_sampled_ns() == weight);
    CHECK(pipeline.summary().samples == 0);
    CHECK(kept.threads.size() == 2);  // one account for all of them
    CHECK(pipeline.threads().accounts()[1].cpu_ns == 10000);
}

// Not on the stack of its last sample: no sample saw it there.
TEST_CASE("CPU time beyond a thread's samples is not sampled") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::uint64_t chain[] = {0xffffffff81000010};
    for (std::uint32_t i = 0; i < 40; ++i) {
        auto raw = kernel_sample(chain);
        raw.tid = 0x7ffffff0 + i;
        raw.weight = 1000;
        pipeline.take(raw);
        pipeline.ledger().thread_ended({.tid = raw.tid, .cpu_ns = 1500});
    }
    pipeline.ledger().write_rests(40 * 1500);
    CHECK(pipeline.summary().samples == 40'000);
    CHECK(pipeline.ledger().not_sampled_ns() == 20'000);
    for (std::size_t i = 40; i < kept.samples.size(); ++i) {
        CHECK(kept.path(kept.samples[i].stack) == std::vector<MappingKind>{MappingKind::note});
        CHECK(kept.samples[i].hits == 0);
    }
}

TEST_CASE("samples that stand for more than one thread used make up for what they miss of another") {
    Kept kept;
    constexpr std::uint64_t period = 1'000'000;
    Pipeline pipeline(kept, false, 0, period, static_cast<std::uint32_t>(::getpid()));
    for (std::uint32_t i = 0; i < 40; ++i) {  // a quarter of a period each: every fourth has a sample, for a whole one
        auto raw = kernel_sample({});
        raw.tid = 0x7ffffff0 + i;
        raw.weight = period;
        if (i % 4 == 0) pipeline.take(raw);
        pipeline.ledger().thread_ended({.tid = raw.tid, .cpu_ns = period / 4});
    }
    pipeline.ledger().write_rests(10 * period);
    CHECK(pipeline.summary().samples == 10 * period);
    CHECK(pipeline.ledger().not_sampled_ns() == 0);
}

TEST_CASE("memory that grows with threads that were never sampled is reported") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::size_t before = pipeline.ledger().memory();
    constexpr std::uint64_t kinds = 1000;
    for (std::uint64_t i = 0; i < kinds; ++i)
        pipeline.ledger().thread_ended({.tid = 1U << 30, .cpu_ns = 250, .routine = i, .name = "brief"});
    CHECK(pipeline.ledger().memory() >= before + kinds * sizeof(std::string));
}

TEST_CASE("samples that stand for more than the process used weigh less from then on, until they do not") {
    Kept kept;
    constexpr std::uint64_t period = 1'000'000;
    const auto self = static_cast<std::uint32_t>(::getpid());
    Pipeline pipeline(kept, false, 0, period, self);
    auto raw = kernel_sample({});
    raw.tid = self;
    raw.weight = period;
    for (std::uint64_t sampled = 1; sampled <= 400; ++sampled) {
        pipeline.take(raw);
        if (sampled % 10 == 0) pipeline.ledger().used(sampled * period * 9 / 10);
    }
    CHECK(pipeline.summary().samples >= 358 * period);
    CHECK(pipeline.summary().samples <= 364 * period);
    CHECK(pipeline.summary().hits == 400);
}

TEST_CASE("samples that are right on average stand for what was used in the end too") {
    constexpr std::uint64_t period = 1'000'000, drains = 400;
    const auto self = static_cast<std::uint32_t>(::getpid());
    double all = 0;
    constexpr int runs = 20;
    for (std::uint64_t run = 0; run < runs; ++run) {
        Kept kept;
        Pipeline pipeline(kept, false, 0, period, self);
        auto raw = kernel_sample({});
        raw.tid = self;
        raw.weight = period;
        std::uint64_t random = run;
        for (std::uint64_t drain = 1; drain <= drains; ++drain) {
            pipeline.ledger().used(drain * period);
            for (std::uint64_t n = splitmix64(random += 0x9e3779b97f4a7c15) % 3; n > 0; --n) pipeline.take(raw);
        }
        all += static_cast<double>(pipeline.summary().samples) / (drains * period);
    }
    CHECK(all / runs > 0.975);  // 0.968 if what is taken from samples were not given back
    CHECK(all / runs < 1.005);
}

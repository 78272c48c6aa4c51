#include "collect/pipeline.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/self_memory.hpp"
#include "collect/live_stack.hpp"

using namespace flameprobe;

namespace {

/// Keeps what it is given.
struct Kept final : ProfileSink {
    void run(const RunInfo&) override {}
    void string(std::uint32_t, const std::string& text) override { strings.push_back(text); }
    void mapping(MappingId id, const Mapping& mapping) override {
        CHECK(id == mappings.size());
        mappings.push_back(mapping);
    }
    void location(LocationId id, const Location& location) override {
        CHECK(id == locations.size());
        CHECK(location.mapping < mappings.size());
        locations.push_back(location);
    }
    void stack(StackId id, const StackNode& node) override {
        CHECK(id == stacks.size());
        CHECK(node.parent < id);
        stacks.push_back(node);
    }
    void thread(ThreadId, const Thread& thread) override { threads.push_back(thread); }
    void sample(const Sample& sample) override { samples.push_back(sample); }
    void summary(const Summary&) override {}

    /// Kinds of the mappings on the path, root first.
    std::vector<MappingKind> path(StackId stack) const {
        std::vector<MappingKind> kinds;
        for (; stack != 0; stack = stacks[stack].parent) {
            kinds.insert(kinds.begin(), mappings[locations[stacks[stack].location].mapping].kind);
        }
        return kinds;
    }

    std::vector<std::string> strings;
    std::vector<Mapping> mappings;
    std::vector<Location> locations;
    std::vector<StackNode> stacks{StackNode{}};
    std::vector<Thread> threads;
    std::vector<Sample> samples;
};

RawSample kernel_sample(std::span<const std::uint64_t> chain) {
    RawSample raw;
    raw.pid = raw.tid = static_cast<std::uint32_t>(::getpid());
    raw.time_ns = 1000;
    raw.kernel_chain = chain;
    return raw;
}

}  // namespace

TEST_CASE("kernel frames lie on top; equal stacks are stored once") {
    Kept kept;
    Pipeline pipeline(kept, false, 500, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::uint64_t chain[] = {0xffffffff81000010, 0xffffffff81000100};
    pipeline.sample(kernel_sample(chain));
    pipeline.sample(kernel_sample(chain));
    REQUIRE(kept.samples.size() == 2);
    CHECK(kept.samples[0].stack == kept.samples[1].stack);
    CHECK(kept.samples[0].time_ns == 500);
    CHECK(kept.path(kept.samples[0].stack) == std::vector<MappingKind>{MappingKind::kernel, MappingKind::kernel});
    // The leaf is the pc itself; the caller's return address lies one byte after its call.
    const auto& leaf = kept.stacks[kept.samples[0].stack];
    CHECK(kept.locations[leaf.location].address == chain[0]);
    CHECK(kept.locations[kept.stacks[leaf.parent].location].address == chain[1] - 1);
    CHECK(pipeline.summary().samples == 2);
}

TEST_CASE("a sample of another process is not ours") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.pid += 1;
    pipeline.sample(raw);
    CHECK(kept.samples.empty());
}

TEST_CASE("a stack that cannot be followed is kept, under [truncated]") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.has_registers = true;
    raw.registers.value[Registers::pc_column] = 0x10;  // no code there
    raw.registers.value[Registers::stack_pointer] = 0x1000;
    raw.weight = 3;
    pipeline.sample(raw);
    REQUIRE(kept.samples.size() == 1);
    const auto path = kept.path(kept.samples[0].stack);
    REQUIRE(path.size() == 2);
    CHECK(path[0] == MappingKind::note);
    CHECK(path[1] == MappingKind::unknown);
    CHECK(pipeline.summary().truncated == 3);
    CHECK(pipeline.summary().rooted == 0);
}

TEST_CASE("CPU time that could not be sampled is lost in whole periods") {
    Kept kept;
    const auto self = static_cast<std::uint32_t>(::getpid());
    Pipeline pipeline(kept, false, 0, 1000, self);
    pipeline.unsampled(self, 700);
    CHECK(kept.samples.empty());
    pipeline.unsampled(self, 2600);
    REQUIRE(kept.samples.size() == 1);
    CHECK(kept.samples[0].weight == 3);
    CHECK(pipeline.summary().lost == 3);
    pipeline.unsampled(self, 700);  // with the 300 that were left
    REQUIRE(kept.samples.size() == 2);
    CHECK(kept.samples[1].weight == 1);
}

TEST_CASE("lost samples of what is no clock are of no thread that has a name") {
    Kept kept;
    constexpr std::uint64_t no_clock = 0;
    Pipeline pipeline(kept, false, 0, no_clock, static_cast<std::uint32_t>(::getpid()));
    pipeline.lost(7);
    REQUIRE(kept.samples.size() == 1);
    CHECK(kept.samples[0].weight == 7);
    CHECK(kept.path(kept.samples[0].stack) == std::vector<MappingKind>{MappingKind::note});
    REQUIRE(kept.threads.size() == 2);
    CHECK(kept.threads[1].tid == 0);
    CHECK(kept.samples[0].thread == 1);
    CHECK(pipeline.summary().lost == 7);
    CHECK(pipeline.summary().samples == 0);
}

TEST_CASE("a tid that is used again is another thread") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.tid = 0x7ffffff0;  // nobody's
    pipeline.sample(raw);
    pipeline.thread_ended(raw.tid, 0);
    pipeline.sample(raw);
    REQUIRE(kept.samples.size() == 2);
    CHECK(kept.samples[0].thread != kept.samples[1].thread);
    pipeline.thread_name(raw.tid, "worker");
    CHECK(kept.threads.back().name == "worker");
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
    pipeline.mapping(library);
    for (std::uint32_t i = 0; i < 40; ++i)
        pipeline.thread_over({.tid = 0x7ffffff0 + i, .cpu_ns = 250, .routine = routine, .name = "brief"});
    std::uint64_t weight = 0;
    for (const auto& sample : kept.samples) {
        weight += sample.weight;
        CHECK(sample.hits == 0);
        CHECK(kept.path(sample.stack) == std::vector<MappingKind>{MappingKind::file, MappingKind::note});
        CHECK(kept.threads[sample.thread].name == "brief");
    }
    CHECK(weight >= 9);
    CHECK(weight <= 11);
    CHECK(pipeline.too_brief() == weight);
    CHECK(pipeline.summary().samples == 0);
    CHECK(kept.threads.size() == 2);  // one account for all of them
    CHECK(pipeline.threads().accounts()[1].cpu_ns == 10000);
}

TEST_CASE("what a thread used beyond its samples stands where it was sampled last") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::uint64_t chain[] = {0xffffffff81000010};
    for (std::uint32_t i = 0; i < 40; ++i) {
        auto raw = kernel_sample(chain);
        raw.tid = 0x7ffffff0 + i;
        pipeline.sample(raw);
        pipeline.thread_over({.tid = raw.tid, .cpu_ns = 1500});
    }
    CHECK(pipeline.summary().samples >= 59);
    CHECK(pipeline.summary().samples <= 61);
    for (const auto& sample : kept.samples) CHECK(sample.stack == kept.samples.front().stack);
}

TEST_CASE("a sample that did not come after a whole period does not always count") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    for (std::uint32_t i = 0; i < 40; ++i) {
        auto raw = kernel_sample({});
        raw.tid = 0x7ffffff0 + i;
        raw.short_by_ns = 900;
        pipeline.sample(raw);
    }
    CHECK(pipeline.summary().samples >= 3);
    CHECK(pipeline.summary().samples <= 5);
}

TEST_CASE("own memory is copied, and what is not mapped is no fault") {
    std::byte from[64], to[64];
    for (std::size_t at = 0; at < sizeof from; ++at) from[at] = static_cast<std::byte>(at);
    CHECK(read_self(reinterpret_cast<std::uint64_t>(from), to) == sizeof to);
    CHECK(to[63] == std::byte{63});
    CHECK(read_self(16, to) == 0);
}

TEST_CASE("live memory counts as the same stack only while the copy's end is in place") {
    std::byte stack[1024] = {};
    std::byte copy[512] = {};
    LiveStack live;
    live.begin({reinterpret_cast<std::uint64_t>(stack), copy});
    CHECK(live.copy_still_true());
    CHECK_FALSE(live.read_any());
    std::byte more[64];
    CHECK(live.read(reinterpret_cast<std::uint64_t>(stack) + 512, more) == sizeof more);
    CHECK(live.read_any());
    stack[500] = std::byte{1};
    CHECK_FALSE(live.copy_still_true());
}

TEST_CASE("memory that grows with threads and labels is reported") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::size_t before = pipeline.memory();
    constexpr std::uint32_t threads = 10000, no_such_tid = 1U << 30;
    for (std::uint32_t i = 0; i < threads; ++i) pipeline.threads().find(no_such_tid + i);
    // An account, its copy in the summary, the thread itself and where it is found by its tid.
    CHECK(pipeline.memory() >= before + threads * (2 * sizeof(ThreadAccount) + sizeof(Thread)));
    CHECK(pipeline.memory() <= before + threads * 400);
}

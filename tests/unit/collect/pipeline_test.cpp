#include "collect/pipeline.hpp"

#include "base/self_memory.hpp"
#include "collect/live_stack.hpp"
#include "kept.hpp"

using namespace flameprobe;

TEST_CASE("kernel frames lie on top; equal stacks are stored once") {
    Kept kept;
    Pipeline pipeline(kept, false, 500, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::uint64_t chain[] = {0xffffffff81000010, 0xffffffff81000100};
    pipeline.take(kernel_sample(chain));
    pipeline.take(kernel_sample(chain));
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

TEST_CASE("samples of other processes are ignored") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.pid += 1;
    pipeline.take(raw);
    CHECK(kept.samples.empty());
}

TEST_CASE("what is read of a thread after its end is filed under its name, not under the next one's with its id") {
    Kept kept;
    const auto pid = static_cast<std::uint32_t>(::getpid()), tid = pid + 1'000'000;
    Pipeline pipeline(kept, false, 0, 1000, pid);
    for (const bool is_sampled : {false, true}) {
        CAPTURE(is_sampled);
        pipeline.take(ThreadStarted{tid, pid, 0});
        pipeline.take(ThreadNamed{tid, "worker"});
        auto raw = kernel_sample({});
        raw.tid = tid;
        if (is_sampled) pipeline.take(raw);
        const std::size_t before = kept.threads.size();
        pipeline.take(ThreadEnded{tid, 1});
        const ThreadId ended = pipeline.thread_of(tid, true);
        CHECK(kept.threads.at(ended).name == "worker");
        CHECK(kept.threads.size() == before + (is_sampled ? 0 : 1));
        CHECK(pipeline.thread_of(tid, true) == ended);
        pipeline.take(ThreadStarted{tid, pid, 0});
        pipeline.take(ThreadNamed{tid, "next"});
        const ThreadId next = pipeline.thread_of(tid, true);
        CHECK(next != ended);
        CHECK(kept.threads.at(next).name == "next");
        pipeline.take(ThreadEnded{tid, 2});
    }
}

TEST_CASE("a thread's samples are filed under the name that it had, in one account") {
    Kept kept;
    const auto pid = static_cast<std::uint32_t>(::getpid());
    Pipeline pipeline(kept, false, 0, 1000, pid);
    const auto name_of_sample = [&](std::uint32_t tid) {
        auto raw = kernel_sample({});
        raw.tid = tid;
        pipeline.take(raw);
        return kept.threads.at(kept.samples.back().thread).name;
    };
    const std::string first = name_of_sample(pid);
    for (const char* const name : {"import", "export", "import"}) {
        pipeline.take(ThreadNamed{pid, name});
        CHECK(name_of_sample(pid) == name);
    }
    CHECK(kept.threads.size() == 3);
    CHECK(kept.threads[1].tid == pid);
    REQUIRE(pipeline.threads().accounts().size() == 1);
    CHECK(pipeline.threads().accounts()[0].samples == 4);
    // The kernel gives a new thread its maker's name: nothing is read of a thread that has another one, or none, by
    // now.
    pipeline.take(ThreadStarted{pid + 1'000'000, pid, 0});
    CHECK(name_of_sample(pid + 1'000'000) == "import");
    pipeline.take(ThreadStarted{pid + 1'000'001, pid, 0});
    pipeline.take(ThreadNamed{pid + 1'000'001, "worker"});
    CHECK(name_of_sample(pid + 1'000'001) == "worker");
    pipeline.take(ThreadNamed{pid, first});
    CHECK(name_of_sample(pid) == first);
    CHECK(kept.samples.back().thread == 0);
}

TEST_CASE("a stack that cannot be followed is kept, under [truncated]") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.has_registers = true;
    raw.registers.value[Registers::pc_column] = 0x10;  // no code there
    raw.registers.value[Registers::stack_pointer] = 0x1000;
    raw.weight = 3;
    pipeline.take(raw);
    REQUIRE(kept.samples.size() == 1);
    const auto path = kept.path(kept.samples[0].stack);
    REQUIRE(path.size() == 2);
    CHECK(path[0] == MappingKind::note);
    CHECK(path[1] == MappingKind::unknown);
    CHECK(pipeline.summary().truncated == 3);
    CHECK(pipeline.summary().rooted == 0);
}

TEST_CASE("a just-in-time compiler's dump is kept for its names") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const auto before = kept.mappings.size();
    for (const char* path : {"/srv/app/jit-4711.dump", "/srv/app/jit-4711.txt", "[anon:jit-1.dump]"}) {
        RawMapping raw;
        raw.start = 0x1000;
        raw.size = 0x1000;
        raw.path = path;
        pipeline.take(raw);
    }
    REQUIRE(kept.mappings.size() == before + 1);
    CHECK(kept.mappings.back().path == "/srv/app/jit-4711.dump");
    CHECK(kept.mappings.back().kind == MappingKind::file);
    CHECK(kept.mappings.back().size == 0);
}

TEST_CASE("neither samples of another event nor its lost ones count as CPU time") {
    Kept kept;
    Pipeline pipeline(kept, false, 500, 1000, static_cast<std::uint32_t>(::getpid()));
    pipeline.more_events(3, {"page-faults", "cycles"});
    const std::uint64_t chain[] = {0xffffffff81000010};
    EventSample raw{kernel_sample(chain), 2};
    raw.weight = 70;
    pipeline.take(raw);
    pipeline.take(SamplesLost{210, 2});
    raw.event = 3;  // there is none
    pipeline.take(raw);
    CHECK(kept.samples.empty());
    CHECK(pipeline.summary().samples == 0);
    CHECK(pipeline.summary().lost == 0);
    REQUIRE(kept.event_samples.size() == 2);
    CHECK(kept.event_samples[0].first == 4);
    CHECK(kept.event_samples[0].second.weight == 70);
    CHECK(kept.event_samples[0].second.hits == 1);
    CHECK(kept.event_samples[0].second.time_ns == 500);
    CHECK(kept.path(kept.event_samples[0].second.stack) == std::vector<MappingKind>{MappingKind::kernel});
    CHECK(kept.event_samples[1].first == 4);
    CHECK(kept.event_samples[1].second.weight == 210);
    CHECK(kept.event_samples[1].second.hits == 0);
    CHECK(kept.path(kept.event_samples[1].second.stack) == std::vector<MappingKind>{MappingKind::note});
}

TEST_CASE("a tid that is used again is another thread") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    auto raw = kernel_sample({});
    raw.tid = 0x7ffffff0;  // no thread has it
    pipeline.take(raw);
    pipeline.take(ThreadEnded{raw.tid, 0});
    pipeline.take(raw);
    REQUIRE(kept.samples.size() == 2);
    CHECK(kept.samples[0].thread != kept.samples[1].thread);
    pipeline.take(ThreadNamed{raw.tid, "worker"});
    CHECK(kept.threads.back().name == "worker");
}

TEST_CASE("read_self() copies mapped memory, and gives 0 where nothing is mapped") {
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

TEST_CASE("memory that grows with threads is reported") {
    Kept kept;
    Pipeline pipeline(kept, false, 0, 1000, static_cast<std::uint32_t>(::getpid()));
    const std::size_t before = pipeline.memory();
    constexpr std::uint32_t threads = 10000, no_such_tid = 1U << 30;
    for (std::uint32_t i = 0; i < threads; ++i) pipeline.threads().find(no_such_tid + i);
    // An account, its copy in the summary, the thread itself and where it is found by its tid.
    CHECK(pipeline.memory() >= before + threads * (2 * sizeof(ThreadAccount) + sizeof(Thread)));
    CHECK(pipeline.memory() <= before + threads * 400);
}

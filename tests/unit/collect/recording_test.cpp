// The account of CPU time that a profile carries.
#include "collect/recording.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/clock.hpp"
#include "outside/reader.hpp"

using namespace flameprobe;

namespace {

constexpr std::uint32_t first_tid = 4'000'000'000;  // of no thread
constexpr std::uint64_t period = 1'000'000, usual_least = 20 * period;

/// Clocks that show what the test sets.
class SetClocks final : public CpuClocks {
public:
    std::uint64_t time_ns() const override { return time; }
    std::uint64_t process_ns() const override { return process; }
    std::uint64_t thread_ns(std::uint32_t tid) const override {
        const auto found = thread.find(tid);
        return found == thread.end() ? 0 : found->second;
    }
    std::uint64_t own_ns() const override { return own; }
    bool own_is_in_process() const override { return own_in_process; }
    std::uint64_t behind_ns() const override { return behind; }
    std::vector<std::uint32_t> threads() const override {
        std::vector<std::uint32_t> tids;
        for (const auto& [tid, ns] : thread) tids.push_back(tid);
        return tids;
    }
    /// Advances the thread's, the process's and the wall clock by so many periods.
    void run(std::uint32_t tid, std::uint64_t periods) {
        thread[tid] += periods * period;
        process += periods * period;
        time += periods * period;
    }

    std::uint64_t time = 1'000 * period, process = 0, own = 0, behind = 0;
    bool own_in_process = false;
    std::map<std::uint32_t, std::uint64_t> thread;
};

/// Reads a profile and adds up what it says, in periods.
struct ToldProfile final : PartialSink {
    explicit ToldProfile(const std::string& path) { REQUIRE(read_profile(path, *this)); }
    void mapping(MappingId id, const Mapping& mapping) override {
        if (mapping.kind == MappingKind::note && mapping.path.empty()) notes = id;  // others have their text as path
    }
    void location(LocationId, const Location& location) override { locations.push_back(location); }
    void stack(StackId, const StackNode& node) override { stacks.push_back(node); }
    void thread(ThreadId id, const Thread& thread) override {
        if (id >= tids.size()) tids.resize(id + 1);
        tids[id] = thread.tid;
    }
    void sample(const Sample& sample) override {
        weights += sample.weight / period;
        const Location leaf = sample.stack == 0 ? Location{} : locations[stacks[sample.stack].location];
        if (sample.stack == 0 || leaf.mapping != notes) return;
        noted[{tids[sample.thread], static_cast<Note>(leaf.address)}] += sample.weight / period;
    }
    void summary(const Summary& told) override {
        last = told;
        for (const auto field : {&Summary::samples, &Summary::lost}) last.*field /= period;
        for (ThreadAccount& account : last.threads) account.samples /= period;
        not_sampled = last.counters["CPU time not sampled, ns"] / period;
    }

    std::uint64_t note(std::uint32_t tid, Note kind) const {
        const auto found = noted.find({tid, kind});
        return found == noted.end() ? 0 : found->second;
    }
    std::uint64_t all(Note kind) const {
        std::uint64_t sum = 0;
        for (const auto& [key, weight] : noted) sum += key.second == kind ? weight : 0;
        return sum;
    }
    ThreadAccount account(std::uint32_t tid) const {
        for (const auto& account : last.threads)
            if (tids[account.thread] == tid) return account;
        return {};
    }
    std::uint64_t of_threads() const {
        std::uint64_t sum = 0;
        for (const auto& account : last.threads) sum += account.samples;
        return sum;
    }

    MappingId notes = ~MappingId{0};
    std::vector<Location> locations;
    std::vector<StackNode> stacks{StackNode{}};
    std::vector<std::uint32_t> tids;
    std::map<std::pair<std::uint32_t, Note>, std::uint64_t> noted;
    std::uint64_t weights = 0, not_sampled = 0;
    Summary last;
};

class ProfileFolder {
public:
    ProfileFolder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
    ~ProfileFolder() { std::filesystem::remove_all(path_); }
    std::string stem() const { return path_ + "/profile"; }

private:
    std::string path_ = "/tmp/flameprobe-test-XXXXXX";
};

RunInfo some_run() {
    RunInfo run;
    run.pid = static_cast<std::uint32_t>(::getpid());
    run.unwinder = "dwarf";
    run.period_ns = period;
    return run;
}

/// A recording whose samples have no stack: only the account is of interest.
struct Case {
    explicit Case(bool all_time = true, std::uint64_t least_cpu_ns = usual_least)
        : recording(some_run(), {.all_time = all_time, .least_cpu_ns = least_cpu_ns}, folder.stem(), {.keep = false},
                    1 << 20, monotonic_ns(), clocks) {
        clocks.thread[main_thread] = 5 * period;  // before sampling began
        clocks.process = 5 * period;
        REQUIRE(recording.resume());
    }
    void take(std::uint32_t tid, std::uint64_t samples) {
        TimeSample raw;
        raw.pid = main_thread;
        raw.tid = tid;
        raw.time_ns = clocks.time;
        raw.weight = period;
        for (std::uint64_t i = 0; i < samples; ++i) recording.sink().take(raw);
    }
    ToldProfile close() {
        recording.pause();
        const std::string path = recording.file().path();
        REQUIRE(recording.close());
        return ToldProfile(path);
    }

    const std::uint32_t main_thread = static_cast<std::uint32_t>(::getpid());
    ProfileFolder folder;
    SetClocks clocks;
    Recording recording;
};

}  // namespace

TEST_CASE("samples that are drained after the pause are in their thread's account") {
    Case run;
    run.clocks.run(run.main_thread, 5);
    run.take(run.main_thread, 3);
    run.recording.pause();
    run.take(run.main_thread, 2);
    run.take(first_tid, 1);
    const ToldProfile told = run.close();
    CHECK(told.weights == 6);
    CHECK(told.last.samples == 6);
    CHECK(told.of_threads() == 6);
    CHECK(told.last.complete);
}

TEST_CASE(
    "time that perf may not sample is attributed to the threads that spent it, also to one that was never sampled") {
    Case run(false);
    run.recording.sink().take(ThreadStarted{first_tid, run.main_thread, 0});
    run.recording.sink().take(ThreadStarted{first_tid + 1, run.main_thread, 0});
    run.clocks.run(run.main_thread, 1000);
    run.clocks.run(first_tid, 700);
    run.clocks.run(first_tid + 1, 400);
    run.take(run.main_thread, 300);
    run.take(first_tid + 1, 399);
    const ToldProfile told = run.close();
    CHECK(told.note(run.main_thread, Note::kernel_not_permitted) == 699);  // the last period may be under way still
    CHECK(told.note(first_tid, Note::kernel_not_permitted) == 699);
    CHECK(told.note(first_tid + 1, Note::kernel_not_permitted) == 0);
    CHECK(told.not_sampled == 3);
    CHECK(told.note(0, Note::kernel_not_permitted) == 0);
    CHECK(told.account(first_tid).cpu_ns == 700 * period);
    CHECK(told.weights == 2100);
    CHECK(told.last.process_cpu_ns == 2100 * period);
}

TEST_CASE("a process that runs on while its clocks are read: the time that is told is in the profile") {
    Case run;
    run.clocks.run(run.main_thread, 100);
    run.take(run.main_thread, 50);
    run.clocks.thread[run.main_thread] += 40 * period;  // after the process's was read
    const ToldProfile told = run.close();
    CHECK(told.last.process_cpu_ns == 140 * period);
    CHECK(told.weights == 140);
}

TEST_CASE("nothing is noted twice: while sampling goes on, and at the end") {
    Case run(false);
    for (int i = 0; i < 10; ++i) {
        run.clocks.run(run.main_thread, 100);
        run.recording.read_clocks();
        run.take(run.main_thread, 40);
        REQUIRE(run.recording.flush());
    }
    const ToldProfile told = run.close();
    CHECK(told.note(run.main_thread, Note::kernel_not_permitted) == 599);
    CHECK(told.not_sampled == 1);  // the last period, which may be under way still
    CHECK(told.weights == 1000);
}

TEST_CASE("time whose CPU timers are late is not noted before their samples come") {
    for (const bool all_time : {false, true}) {
        Case run(all_time);
        for (int i = 0; i < 3; ++i) {
            run.clocks.run(run.main_thread, 100);
            run.recording.read_clocks();
            run.take(run.main_thread, 50);
            REQUIRE(run.recording.flush());
            run.take(run.main_thread, 50);
        }
        const ToldProfile told = run.close();
        CHECK(told.weights == 300);
        CHECK(told.last.lost == 0);
    }
}

TEST_CASE("what a timer engine reports as not sampled is in [lost], in the summary and in the thread's row alike") {
    Case run;
    run.clocks.run(run.main_thread, 1000);
    run.take(run.main_thread, 800);
    run.recording.sink().take(TimeNotSampled{run.main_thread, 150 * period, false});
    const ToldProfile told = run.close();
    CHECK(told.note(run.main_thread, Note::lost) == 150);
    CHECK(told.last.lost == 150);
    CHECK(told.not_sampled == 50);  // as its clock shows
    CHECK(told.last.samples == 800);
    CHECK(told.weights == 1000);
}

TEST_CASE("lost samples are attributed to the threads whose clocks exceed their samples") {
    Case run;
    run.recording.sink().take(ThreadStarted{first_tid, run.main_thread, 0});
    run.clocks.run(run.main_thread, 1000);
    run.clocks.run(first_tid, 500);
    run.take(run.main_thread, 940);
    run.take(first_tid, 470);
    run.recording.sink().take(SamplesLost{90 * period});
    const ToldProfile told = run.close();
    CHECK(told.note(run.main_thread, Note::lost) == 60);
    CHECK(told.note(first_tid, Note::lost) == 30);
    CHECK(told.note(0, Note::lost) == 0);
    CHECK(told.last.lost == 90);
    CHECK(told.weights == 1500);
}

TEST_CASE("what a thread's clock misses beyond the samples that the kernel reports as lost is not sampled") {
    Case run;
    run.clocks.run(run.main_thread, 1000);
    run.take(run.main_thread, 700);
    run.recording.sink().take(SamplesLost{20 * period});
    const ToldProfile told = run.close();
    CHECK(told.note(run.main_thread, Note::lost) == 20);
    CHECK(told.last.lost == 20);
    CHECK(told.not_sampled == 280);
    CHECK(told.weights == 1000);
}

TEST_CASE(
    "lost samples beyond the threads' clocks are of no known thread; lost records beyond the process's were none") {
    Case run;
    run.clocks.run(run.main_thread, 100);
    run.take(run.main_thread, 100);
    run.clocks.process += 30 * period;
    run.recording.sink().take(SamplesLost{40 * period});
    const ToldProfile told = run.close();
    CHECK(told.note(0, Note::lost) == 30);
    CHECK(told.last.lost == 30);
    CHECK(told.weights == 130);
    CHECK(told.last.counters.at("records lost that were no samples") == 10);
}

TEST_CASE("a thread that ended has used as much as its samples stand for, not what was read of its clock last") {
    Case run;
    run.recording.sink().take(ThreadStarted{first_tid, run.main_thread, 0});
    run.recording.sink().take(ThreadStarted{first_tid + 1, run.main_thread, 0});
    run.clocks.run(first_tid, 100);
    run.recording.read_clocks();
    run.take(first_tid, 100);
    run.clocks.run(first_tid, 180);
    run.take(first_tid, 180);
    run.clocks.run(first_tid + 1, 7);
    run.take(first_tid + 1, 7);  // its clock was never read
    run.recording.sink().take(ThreadEnded{first_tid, run.clocks.time});
    run.recording.sink().take(ThreadEnded{first_tid + 1, run.clocks.time});
    run.clocks.thread.erase(first_tid);
    run.clocks.thread.erase(first_tid + 1);
    const ToldProfile told = run.close();
    CHECK(told.account(first_tid).cpu_ns == 280 * period);
    CHECK(told.account(first_tid + 1).cpu_ns == 7 * period);
    CHECK(told.last.process_cpu_ns == 287 * period);
}

TEST_CASE("a thread that has ended and is still listed is counted once") {
    Case run;
    run.recording.sink().take(ThreadStarted{first_tid, run.main_thread, 0});
    run.clocks.run(first_tid, 100);
    run.take(first_tid, 100);
    run.recording.read_clocks();
    const std::uint64_t clock = 100 * period;
    SUBCASE("the kernel reported its end") { run.recording.sink().take(ThreadEnded{first_tid, run.clocks.time}); }
    SUBCASE("the thread reported its end") {
        run.recording.threads_ended({{.tid = first_tid, .cpu_ns = clock}});
        run.recording.threads_ended({});
    }
    SUBCASE("both reported it") {
        run.recording.threads_ended({{.tid = first_tid, .cpu_ns = clock}});
        run.recording.sink().take(ThreadEnded{first_tid, run.clocks.time});
        run.recording.threads_ended({});
    }
    const ToldProfile told = run.close();
    CHECK(told.account(first_tid).cpu_ns == clock);
    CHECK(std::count(told.tids.begin(), told.tids.end(), first_tid) == 1);
    CHECK(told.last.process_cpu_ns == clock);
    CHECK(told.all(Note::lost) == 0);
}

TEST_CASE("a thread that is sampled after it reported its end has its CPU time once") {
    Case run;
    run.clocks.run(first_tid, 100);
    run.take(first_tid, 100);
    run.recording.read_clocks();
    run.recording.threads_ended({{.tid = first_tid, .cpu_ns = 100 * period}});
    run.recording.threads_ended({});
    run.clocks.run(first_tid, 1);
    run.take(first_tid, 1);
    run.recording.read_clocks();
    const ToldProfile told = run.close();
    CHECK(told.last.process_cpu_ns == 101 * period);
    CHECK(told.all(Note::lost) == 0);
}

TEST_CASE("a host that was killed has used as much as its samples stand for") {
    Case run;
    run.clocks.run(run.main_thread, 100);
    run.recording.read_clocks();
    run.clocks.time += 50 * period;
    run.clocks.process = 0;
    run.clocks.thread.clear();
    run.take(run.main_thread, 150);
    const ToldProfile told = run.close();
    CHECK(told.account(run.main_thread).cpu_ns == 150 * period);
    CHECK(told.last.process_cpu_ns == 150 * period);
}

TEST_CASE("where the last reading was behind, samples prove what a later one confirms") {
    for (const std::uint64_t later : {20, 50}) {
        Case run;
        run.clocks.behind = period;
        run.clocks.run(run.main_thread, 100);
        run.recording.read_clocks();
        run.take(run.main_thread, 140);
        run.recording.pause();
        run.clocks.process += later * period;
        const ToldProfile told = run.close();
        CHECK(told.last.process_cpu_ns == (100 + std::min<std::uint64_t>(later, 40)) * period);
    }
}

TEST_CASE("the most memory that the event source told of counts as ours") {
    Case run;
    run.take(run.main_thread, 10);
    run.recording.has_buffers(30 << 20);
    run.recording.has_buffers(10 << 20);
    const auto told = run.close();
    CHECK(told.last.own_memory >= 30 << 20);
    CHECK(told.last.own_memory < 31 << 20);
}

TEST_CASE("one recording after the other: no CPU time is missed or counted twice") {
    Case first;
    first.clocks.run(first.main_thread, 300);
    first.take(first.main_thread, 300);
    first.recording.pause();
    const auto counted_to = first.recording.counted_to();
    first.clocks.run(first.main_thread, 50);  // while the first one's results are written
    first.clocks.run(first_tid, 20);          // a thread that is new
    const ProfileFolder folder;
    Recording second(some_run(), {.least_cpu_ns = usual_least}, folder.stem(), {.keep = false}, 1 << 20, monotonic_ns(),
                     first.clocks);
    REQUIRE(second.resume_from(counted_to));
    first.clocks.run(first.main_thread, 100);
    TimeSample raw;
    raw.pid = raw.tid = first.main_thread;
    raw.time_ns = first.clocks.time;
    for (int i = 0; i < 150; ++i) second.sink().take(raw);
    raw.tid = first_tid;
    for (int i = 0; i < 20; ++i) second.sink().take(raw);
    second.pause();
    const std::string path = second.file().path();
    REQUIRE(second.close());
    const ToldProfile of_first = first.close(), of_second(path);
    CHECK(of_first.account(first.main_thread).cpu_ns == 300 * period);
    CHECK(of_second.account(first.main_thread).cpu_ns == 150 * period);
    CHECK(of_second.account(first_tid).cpu_ns == 20 * period);
    CHECK(of_second.last.process_cpu_ns == 170 * period);
}

TEST_CASE("time in which sampling was off does not count, nor does a collector that is a thread of the host") {
    Case run;
    run.clocks.own_in_process = true;
    run.clocks.run(run.main_thread, 10);
    run.take(run.main_thread, 10);
    run.recording.pause();
    run.clocks.run(run.main_thread, 1000);
    REQUIRE(run.recording.resume());
    run.clocks.run(run.main_thread, 5);
    run.take(run.main_thread, 5);
    run.clocks.own += 3 * period;
    run.clocks.process += 3 * period;
    const ToldProfile told = run.close();
    CHECK(told.account(run.main_thread).cpu_ns == 15 * period);
    CHECK(told.last.process_cpu_ns == 15 * period);
    CHECK(told.last.own_cpu_ns == 3 * period);
}

TEST_CASE("CPU time that collectors used in the host's process before is not its main thread's") {
    SetClocks clocks;
    clocks.own_in_process = true;
    clocks.thread[static_cast<std::uint32_t>(::getpid())] = 5 * period;
    clocks.process = 9 * period;  // one collector has ended, and the other has used a period
    clocks.own = period;
    const auto since = Recording::count_from_now(false, clocks);
    CHECK(since.process_ns == 9 * period);
    CHECK(since.own_ns == period);
    REQUIRE(since.threads.size() == 1);
    CHECK(since.threads.begin()->second == 5 * period);
}

TEST_CASE("a process that no sample hit leaves a file if it used FLAMEPROBE_MIN_CPU or more") {
    for (const auto& [least, kept] : {std::pair<std::uint64_t, bool>{50 * period, true}, {51 * period, false}}) {
        Case run(true, least);
        run.clocks.run(run.main_thread, 50);
        run.recording.threads_ended({{.tid = first_tid, .cpu_ns = 50 * period}});
        run.recording.pause();
        const std::string path = run.recording.file().path();
        REQUIRE(run.recording.close());
        CHECK(std::filesystem::exists(path) == kept);
    }
}

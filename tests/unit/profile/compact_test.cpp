#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "example.hpp"
#include "outside/compactor.hpp"
#include "outside/reader.hpp"
#include "profile/writer.hpp"
#include "recorded.hpp"
#include "temporary_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// As a host that goes on writes to what another process has made small.
void compact(ProfileWriter& writer, const TemporaryFile& from, const TemporaryFile& to) {
    REQUIRE(compact_profile(from.path(), to.open()));
    REQUIRE(writer.go_on_in(to.open()));
}

/// Everything but samples as text, samples as sums.
struct Sums final : PartialSink {
    Recorded definitions;
    std::map<std::pair<ThreadId, StackId>, std::uint64_t> weights, hits;
    std::uint64_t samples = 0, last_ns = 0;

    Sums() : PartialSink(&definitions) {}
    void sample(const Sample& sample) override {
        weights[{sample.thread, sample.stack}] += sample.weight;
        hits[{sample.thread, sample.stack}] += sample.hits;
        ++samples;
        last_ns = sample.time_ns;
    }
};

/// A random run, written to a profile and to the sums that are expected.
class Run {
public:
    void define(ProfileSink& out) {
        out.run({});
        out.mapping(0, {MappingKind::file, 0x1000, 0x1000, 0, 0, "/bin/x", ""});
        out.thread(0, {1, "main"});
        out.thread(1, {2, "worker"});
        for (LocationId id = 0; id < 100; ++id) out.location(id, {0, 0x1000 + id * 8});
        for (StackId id = 1; id <= 500; ++id) out.stack(id, {id / 2, id % 100});
    }
    void samples(ProfileSink& writer, ProfileSink& truth, int count) {
        for (int i = 0; i < count; ++i) {
            const Sample sample{time_ns_ += 10'101'010, static_cast<ThreadId>(random_() % 2),
                                static_cast<StackId>(random_() % 500 + 1), 1 + random_() % 3, random_() % 2};
            writer.sample(sample);
            truth.sample(sample);
        }
    }

private:
    std::mt19937 random_{5};
    std::uint64_t time_ns_ = 0;
};

}  // namespace

TEST_CASE("a compacted profile keeps every weight, and goes on with the same ids") {
    const TemporaryFile first, second, third;
    ProfileWriter writer(first.open());
    Sums truth, read;
    Run run;
    run.define(writer);
    run.define(truth);
    run.samples(writer, truth, 200'000);
    REQUIRE(writer.flush());
    const std::uint64_t before = writer.bytes_written();
    run.samples(writer, truth, 1);  // comes while another process makes it small
    compact(writer, first, second);
    CHECK(writer.bytes_written() == second.bytes().size());
    CHECK(writer.bytes_written() < before / 2);

    const StackNode next{500, 3};  // ids are written as differences, which must go on from the last ones
    for (ProfileSink* sink : {static_cast<ProfileSink*>(&writer), static_cast<ProfileSink*>(&truth)}) {
        sink->location(100, {0, 0x1999});
        sink->stack(501, next);
        sink->stack(502, {501, 100});
        sink->thread(2, {3, "late"});
        sink->sample({9'999'999'999'999, 2, 502, 4});
    }
    REQUIRE(writer.flush());
    REQUIRE(read_profile(second.path(), read));
    CHECK(read.weights == truth.weights);
    CHECK(read.hits == truth.hits);
    CHECK(read.definitions.lines == truth.definitions.lines);
    CHECK(read.last_ns == 9'999'999'999'999);

    compact(writer, second, third);
    Sums again;
    REQUIRE(read_profile(third.path(), again));
    CHECK(again.weights == truth.weights);
    CHECK(again.hits == truth.hits);
    CHECK(again.definitions.lines == truth.definitions.lines);
}

TEST_CASE("a compacted profile has every kind of record") {
    const auto kinds_of = [](const Recorded& recorded) {
        std::set<std::string> kinds;
        for (const auto& line : recorded.lines) kinds.insert(line.substr(0, line.find(' ')));
        return kinds;
    };
    Recorded whole, compacted;
    write_example(whole);
    Compactor compactor(compacted, 1'000'000'000);
    write_example(compactor);
    compactor.finish();
    CHECK(kinds_of(compacted) == kinds_of(whole));
    CHECK(kinds_of(whole).size() >= 10);
}

TEST_CASE("sums of past intervals are not kept in memory, and a late sample is not lost") {
    Sums read;
    Compactor compactor(read, 100);
    for (std::uint64_t time = 0; time < 6400; ++time)
        compactor.sample({time, 0, static_cast<StackId>(time % 7 + 1), 1});
    CHECK(read.samples == 62 * 7 - 1);
    compactor.sample({5, 0, 9, 3});
    compactor.finish();
    CHECK(read.samples == 64 * 7 + 1);
    CHECK(read.weights[{0, 1}] == 915);
    CHECK(read.weights[{0, 9}] == 3);
}

TEST_CASE("a profile that cannot be written smaller is an error") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    write_example(writer);
    REQUIRE(writer.flush());
    CHECK_FALSE(compact_profile(file.path(), Descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC))));
    CHECK_FALSE(compact_profile("/nonexistent/x.fprobe", file.open()));
    CHECK_FALSE(writer.go_on_in(Descriptor()));
}

TEST_CASE("what was freed keeps its mean age when a profile is compacted") {
    Recorded read;
    Compactor compactor(read, 1000);
    compactor.event(1, {"freed", "bytes", 0, 0});
    compactor.event_sample(1, {100, 0, 5, 300, 1, 90});
    compactor.event_sample(1, {200, 0, 5, 100, 1, 10});
    compactor.finish();
    Recorded expected;
    expected.event(1, {"freed", "bytes", 0, 0});
    expected.event_sample(1, {200, 0, 5, 400, 2, 70});
    CHECK(read.lines == expected.lines);
}

TEST_CASE("counts of work keep their sum when a profile is compacted") {
    class Sums final : public PartialSink {
    public:
        std::map<std::string, std::uint64_t> sums;
        unsigned records = 0;
        void host(const HostRecord& record) override {
            ++records, sums[std::get<WorkCount>(record).name] += std::get<WorkCount>(record).amount;
        }
    } sums;
    Compactor compactor(sums, 1000);
    for (std::uint64_t time = 0; time < 4000; time += 10) {
        compactor.host(WorkCount{time, "requests", 3});
        compactor.host(WorkCount{time, "bytes", time});
    }
    compactor.finish();
    CHECK(sums.sums == std::map<std::string, std::uint64_t>{{"requests", 1200}, {"bytes", 798000}});
    CHECK(sums.records == 8);
}

TEST_CASE("requests stay counted when a profile is compacted, and their passings go") {
    class Kept final : public PartialSink {
    public:
        Durations all;
        unsigned records = 0, passings = 0;
        void host(const HostRecord& record) override {
            if (const auto* const times = std::get_if<RequestTimes>(&record)) ++records, all.add(*times);
            if (std::holds_alternative<Passing>(record)) ++passings;
        }
    } kept;
    Compactor compactor(kept, 1000);
    for (std::uint64_t time = 0; time < 4000; time += 10) {
        compactor.host(RequestTimes{time, "checkout", 1, 500, time, 2, {3, 1, 100, 5, 7, 1}, false});
        compactor.host(Passing{0, 0, time, 5, Passing::sampled});
    }
    compactor.finish();
    CHECK(kept.records == 4);
    CHECK(kept.passings == 0);
    CHECK(kept.all.cells == std::map<std::uint32_t, std::uint64_t>{{3, 400}, {103, 2000}, {110, 400}});
    CHECK(kept.all.count() == 2800);
    CHECK(kept.all.coarse == 2800);
    CHECK(kept.all.failed == 400);
    CHECK(kept.all.sum_ns == 200'000);
    CHECK(kept.all.longest_ns == 3990);
    CHECK(kept.all.unseen == 800);
}

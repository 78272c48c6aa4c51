#include <doctest/doctest.h>

#include <fstream>
#include <utility>

#include "example.hpp"
#include "outside/reader.hpp"
#include "profile/record_fields.hpp"
#include "profile/writer.hpp"
#include "recorded.hpp"
#include "temporary_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

TEST_CASE("what is written is read back, call for call") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    write_example(writer);
    REQUIRE(writer.flush());
    CHECK(writer.bytes_written() == file.bytes().size());

    Recorded expected, read;
    write_example(expected);
    const auto outcome = read_profile(file.path(), read);
    REQUIRE(outcome);
    CHECK(outcome->blocks == 1);
    CHECK(outcome->bytes_ignored == 0);
    CHECK(read.lines == expected.lines);
}

TEST_CASE("differences carry over from block to block") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    Recorded expected, read;
    write_example(expected);
    write_example(writer);
    REQUIRE(writer.flush());
    for (std::uint64_t i = 0; i < 3; ++i) {
        const Sample sample{5'000'000 + i, 1, 3, 1};
        writer.sample(sample);
        expected.sample(sample);
        REQUIRE(writer.flush());
        REQUIRE(writer.flush());  // with nothing buffered: no empty block
    }
    const auto outcome = read_profile(file.path(), read);
    REQUIRE(outcome);
    CHECK(outcome->blocks == 4);
    CHECK(read.lines == expected.lines);
}

TEST_CASE("a buffer that grew large becomes several blocks") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    writer.thread(0, {1, "main"});
    constexpr std::uint64_t count = 500'000;
    for (std::uint64_t i = 0; i < count; ++i) writer.sample({i * 10'101'010, 0, 0, 1});
    REQUIRE(writer.flush());
    Recorded read;
    const auto outcome = read_profile(file.path(), read);
    REQUIRE(outcome);
    CHECK(outcome->blocks > 1);
    CHECK(read.lines.size() == count + 1);
}

TEST_CASE("a sample at 99 Hz of one of a thousand stacks takes at most fourteen bytes") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    writer.mapping(0, {});
    for (ThreadId id = 0; id < 8; ++id) writer.thread(id, {id, "worker"});
    writer.location(0, {0, 0});
    for (StackId id = 1; id <= 1000; ++id) writer.stack(id, {id - 1, 0});
    REQUIRE(writer.flush());
    const auto before = writer.bytes_written();
    constexpr std::uint32_t count = 9900;
    for (std::uint32_t i = 0; i < count; ++i)
        writer.sample({i * std::uint64_t{10'101'010} + i % 977, i % 8, i * 7919 % 1000 + 1, 10'101'010});
    REQUIRE(writer.flush());
    CHECK(writer.bytes_written() - before <= count * 14);
}

TEST_CASE("the bytes are those of the example in docs/formats.md") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    writer.thread(0, {999, "main"});
    writer.mapping(0, {MappingKind::file, 0x400000, 0x1000, 0, 0, "/bin/x", ""});
    writer.location(0, {0, 0x400123});
    writer.stack(1, {0, 0});
    writer.sample({10'101'010, 0, 1, 1});
    REQUIRE(writer.flush());
    std::string hex;
    for (const char c : file.bytes()) {
        constexpr char digits[] = "0123456789abcdef";
        hex += digits[static_cast<unsigned char>(c) >> 4];
        hex += digits[static_cast<unsigned char>(c) & 15];
    }
    CHECK(hex ==
          "4650524f42451a02010000002b000000b2688b38250800e707046d61696e"
          "1d15048080800280200000062f62696e2f78000000000003c6040100a484d10901");
}

TEST_CASE("summaries take a tenth of the file at most, and the last one is always written") {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    writer.thread(0, {1, "main"});
    Summary summary;
    summary.counters = {{"some counter with a long name", 1}, {"another one", 2}};
    for (std::uint64_t i = 1; i <= 10'000; ++i) {
        writer.sample({i * 10'101'010, 0, 0, 1});
        summary.samples = i;
        writer.summary(summary);
        REQUIRE(writer.flush());
    }
    class Counting final : public PartialSink {
    public:
        std::uint64_t summaries = 0, last = 0;
        bool complete = false;
        void summary(const Summary& s) override { ++summaries, last = s.samples, complete = s.complete; }
    };
    Counting killed, ended;
    REQUIRE(read_profile(file.path(), killed));
    std::string fields;
    FieldWriter field(fields);
    list_fields(field, std::as_const(summary));
    CHECK(killed.summaries * fields.size() <= file.bytes().size() / 10);
    CHECK(killed.summaries > 100);
    CHECK(killed.last > 9'800);
    summary.complete = true;
    writer.summary(summary);
    REQUIRE(writer.flush());
    REQUIRE(read_profile(file.path(), ended));
    CHECK(ended.complete);
    CHECK(ended.last == 10'000);
}

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/varint.hpp"
#include "example.hpp"
#include "outside/reader.hpp"
#include "profile/format.hpp"
#include "profile/writer.hpp"
#include "recorded.hpp"
#include "temporary_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::string example_bytes(int more_blocks) {
    const TemporaryFile file;
    ProfileWriter writer(file.open());
    write_example(writer);
    REQUIRE(writer.flush());
    for (int i = 0; i < more_blocks; ++i) {
        writer.sample({100, 0, 1, 1});
        REQUIRE(writer.flush());
    }
    return file.bytes();
}

/// A file with one whole block of these records.
std::string with_records(const std::string& payload) {
    const auto header = make_block_header(format::BlockType::records, payload);
    return std::string(format::magic) + std::string(header.begin(), header.end()) + payload;
}

std::string record(format::RecordKey key, std::uint64_t first, std::initializer_list<std::uint64_t> rest = {}) {
    std::string out;
    put_varint(out, first << format::key_bits | static_cast<std::uint64_t>(key));
    for (const auto value : rest) put_varint(out, value);
    return out;
}

std::string error_of(const std::string& bytes) {
    const TemporaryFile file;
    file.write(bytes);
    Recorded sink;
    const auto result = read_profile(file.path(), sink);
    return result ? "" : result.error().message;
}

bool complains(const std::string& bytes, const std::string& about) {
    const std::string message = error_of(bytes);
    INFO(message);
    return message.find(about) != std::string::npos;
}

}  // namespace

TEST_CASE("a file cut anywhere is read up to its last whole block, and the rest is reported") {
    const std::string whole = example_bytes(2);
    Recorded example;
    write_example(example);
    const std::size_t first_end = example_bytes(0).size(), second_end = example_bytes(1).size();
    for (std::size_t size = format::magic.size(); size < whole.size(); ++size) {
        const TemporaryFile file;
        file.write(whole.substr(0, size));
        Recorded read;
        const auto outcome = read_profile(file.path(), read);
        REQUIRE(outcome);
        const std::uint64_t blocks = size >= second_end ? 2 : size >= first_end ? 1 : 0;
        const std::size_t kept = blocks == 2 ? second_end : blocks == 1 ? first_end : format::magic.size();
        REQUIRE(outcome->blocks == blocks);
        REQUIRE(outcome->bytes_ignored == size - kept);
        REQUIRE(outcome->why_ignored.empty() == (size == kept));
        REQUIRE(read.lines.size() == (blocks == 0 ? 0 : example.lines.size() + blocks - 1));
    }
}

TEST_CASE("a flipped bit anywhere behind the magic is noticed") {
    const std::string whole = example_bytes(0);
    for (std::size_t i = format::magic.size(); i < whole.size(); ++i) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
        const TemporaryFile file;
        file.write(bytes);
        Recorded read;
        const auto outcome = read_profile(file.path(), read);
        REQUIRE(outcome);
        REQUIRE(outcome->blocks == 0);
        REQUIRE(read.lines.empty());
        REQUIRE(outcome->bytes_ignored == whole.size() - format::magic.size());
    }
}

TEST_CASE("for other input the error says what it is") {
    CHECK(complains("", "is empty"));
    CHECK(complains("main;work 12\n", "not a .fprobe"));
    CHECK(complains("FPRO", "not a .fprobe"));
    CHECK(complains(std::string("FPROBE\x1a\x09", 8), "format 9"));
    Recorded sink;
    const auto missing = read_profile("/nonexistent/x.fprobe", sink);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().message == "/nonexistent/x.fprobe: cannot be opened: No such file or directory");
    const auto directory = read_profile("/tmp", sink);
    REQUIRE_FALSE(directory);
    CHECK(directory.error().message.find("is a directory") != std::string::npos);
}

TEST_CASE("whole blocks whose records contradict each other are an error with the offset") {
    using format::RecordKey;
    CHECK(complains(with_records(record(RecordKey::sample, 0, {0, 0})),
                    "offset 8: in the block that begins here, at byte 0"));
    CHECK(complains(with_records(record(RecordKey::sample, 0, {0, 0})), "thread that is not defined"));
    CHECK(complains(with_records(record(RecordKey::child_stack, 0)), "location that is not defined"));
    CHECK(complains(with_records(record(RecordKey::location, 5, {0})), "mapping that is not defined"));
    CHECK(complains(with_records(record(RecordKey::extended, 3, {200})), "cut short"));
    CHECK(complains(with_records(std::string(1, '\x07')), "does not know"));
    CHECK(complains(with_records(std::string(11, '\xff')), "cut short"));
    const std::string mapping = record(RecordKey::extended, 3, {1, 0});
    const std::string location = record(RecordKey::location, 0, {0});
    CHECK(error_of(with_records(mapping + location + record(RecordKey::child_stack, 0))).empty());
    CHECK(complains(with_records(mapping + location + record(RecordKey::stack, 0, {1})), "parent is not defined"));
    CHECK(complains(with_records(record(RecordKey::extended, 3, {1, 99})), "out of range"));
    const std::string scope_mapping = record(RecordKey::extended, 3, {1, 3});
    CHECK(complains(with_records(scope_mapping + location), "label is not defined"));
    CHECK(complains(with_records(mapping + location + record(RecordKey::extended, 6, {6, 0, 1, 3, 0, 0, 0})),
                    "not defined"));
    // A list that claims more items than there are bytes.
    CHECK(complains(with_records(mapping + location + record(RecordKey::extended, 6, {6, 0, 255, 255, 255, 127})),
                    "out of range"));
}

TEST_CASE("what a later version added is skipped") {
    const auto unknown_block = make_block_header(static_cast<format::BlockType>(77), "anything");
    std::string bytes(format::magic);
    bytes.append(unknown_block.begin(), unknown_block.end()).append("anything");
    bytes += with_records(record(format::RecordKey::extended, 1000, {3, 1, 2, 3})).substr(format::magic.size());
    const TemporaryFile file;
    file.write(bytes);
    Recorded sink;
    const auto outcome = read_profile(file.path(), sink);
    REQUIRE(outcome);
    CHECK(outcome->blocks == 2);
    CHECK(sink.lines.empty());
}

TEST_CASE("of random records under a right checksum none with a bad id reaches the sink") {
    // Checks every id that the reader lets through.
    class Checking final : public PartialSink {
    public:
        std::uint32_t strings = 0, mappings = 0, locations = 0, stacks = 0, threads = 0;
        void string(std::uint32_t id, const std::string&) override { REQUIRE(id == strings++); }
        void mapping(MappingId id, const Mapping&) override { REQUIRE(id == mappings++); }
        void location(LocationId id, const Location& l) override {
            REQUIRE(id == locations++);
            REQUIRE(l.mapping < mappings);
        }
        void stack(StackId id, const StackNode& n) override {
            REQUIRE(id == ++stacks);
            REQUIRE(n.parent < id);
            REQUIRE(n.location < locations);
        }
        void thread(ThreadId id, const Thread&) override {
            REQUIRE(id <= threads);
            threads += id == threads;
        }
        void sample(const Sample& s) override {
            REQUIRE(s.thread < threads);
            REQUIRE(s.stack <= stacks);
        }
        void symbols(LocationId id, const std::vector<ArchivedSymbol>& list) override {
            REQUIRE(id < locations);
            for (const auto& symbol : list) REQUIRE(symbol.name < strings);
        }
    };
    const std::string payload = example_bytes(0).substr(format::magic.size() + format::block_header_size);
    std::mt19937 random(7);
    int accepted = 0;
    constexpr int rounds = 4'000;
    for (int round = 0; round < rounds; ++round) {
        std::string bytes = payload;
        for (unsigned i = 0; i <= random() % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        const TemporaryFile file;
        file.write(with_records(bytes));
        Checking sink;
        accepted += static_cast<bool>(read_profile(file.path(), sink));
    }
    CHECK(accepted > 0);
    CHECK(accepted < rounds);
}

TEST_CASE("the fuzzer's seed is the example, which has every kind of record") {
    // Its first byte says how it is cut into blocks: see tests/fuzz/profile.cpp.
    const std::string seed = '\x05' + example_bytes(0).substr(format::magic.size() + sizeof(BlockHeaderBytes));
    if (const char* const path = std::getenv("FLAMEPROBE_NEW_SEED")) std::ofstream(path, std::ios::binary) << seed;
    std::ifstream file(FLAMEPROBE_PROFILE_SEED, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(file), {}};
    CHECK_MESSAGE(kept == seed, "made anew by FLAMEPROBE_NEW_SEED=" FLAMEPROBE_PROFILE_SEED " unit-profile");
}

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "profile/reader.hpp"
#include "session/spool.hpp"

using namespace flameprobe;

namespace {

class Weights final : public ProfileSink {
public:
    std::uint64_t sum = 0;
    void run(const RunInfo&) override {}
    void string(std::uint32_t, const std::string&) override {}
    void mapping(MappingId, const Mapping&) override {}
    void location(LocationId, const Location&) override {}
    void stack(StackId, const StackNode&) override {}
    void thread(ThreadId, const Thread&) override {}
    void sample(const Sample& sample) override { sum += sample.weight; }
    void summary(const Summary&) override {}
};

}  // namespace

TEST_CASE("a run that never ends stays within its bound on disk, and no sample's weight is lost") {
    std::string directory = "/tmp/flameprobe-test-XXXXXX";
    REQUIRE(mkdtemp(directory.data()) != nullptr);
    constexpr std::uint64_t bound = 64 * 1024;
    Spool spool(directory + "/long", false, bound);
    spool.writer().thread(0, {1, "main"});
    REQUIRE(spool.create());
    constexpr std::uint64_t samples = 100'000;
    std::uint64_t largest = 0;
    for (std::uint64_t i = 1; i <= samples; ++i) {
        spool.writer().sample({i * 10'101'010, 0, 0, 1});
        if (i % 1000 != 0) continue;
        REQUIRE(spool.flush());
        largest = std::max<std::uint64_t>(largest, std::filesystem::file_size(spool.path()));
    }
    CHECK(largest < bound + 16 * 1024);
    Weights read;
    REQUIRE(read_profile(spool.path(), read));
    CHECK(read.sum == samples);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(directory)) ++files;
    CHECK(files == 1);
    std::filesystem::remove_all(directory);
}

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>

#include "collect/profile_file.hpp"
#include "outside/compactor.hpp"
#include "outside/reader.hpp"

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

class Weights final : public PartialSink {
public:
    std::uint64_t sum = 0;
    void sample(const Sample& sample) override { sum += sample.weight; }
};

class Folder {
public:
    Folder() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    ~Folder() { fs::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
    }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto& file : fs::directory_iterator(path_)) sum += file.file_size();
        return sum;
    }

private:
    std::string path_ = "/tmp/flameprobe-test-XXXXXX";
};

constexpr std::uint64_t bound = 64 * 1024;

void begin(ProfileFile& spool) {
    spool.writer().mapping(0, {});
    spool.writer().location(0, {0, 1});
    spool.writer().thread(0, {1, "main"});
    REQUIRE(spool.create());
}

std::uint64_t weight_in(const std::string& path) {
    Weights read;
    REQUIRE(read_profile(path, read));
    return read.sum;
}

/// As the drawing program does.
Result<void> write_smaller(const std::string& path, const Descriptor& into) {
    return compact_profile(path, Descriptor(::fcntl(into.get(), F_DUPFD_CLOEXEC, 0)));
}

/// Writes `count` samples, or fewer if the spool is full before. Each has a stack of its own, so the file cannot be
/// compacted. Gives the number of samples written.
std::uint64_t fill(ProfileFile& spool, std::uint64_t count, std::uint64_t& stacks) {
    for (std::uint64_t i = 1; i <= count; ++i) {
        const auto id = static_cast<StackId>(++stacks);
        spool.writer().stack(id, {id - 1, 0});
        spool.writer().sample({i * 10'101'010, 0, id, 1});
        if (i % 100 != 0) continue;
        REQUIRE(spool.flush());
        if (spool.full() && !spool.compact(write_smaller)) return i;
    }
    return count;
}

}  // namespace

TEST_CASE("a run that never ends stays within its bound on disk, and no sample's weight is lost") {
    const Folder folder;
    ProfileFile spool(folder / "long", {.keep = false}, bound);
    begin(spool);
    constexpr std::uint64_t samples = 100'000;
    std::uint64_t largest = 0;
    for (std::uint64_t i = 1; i <= samples; ++i) {
        spool.writer().sample({i * 10'101'010, 0, 0, 1});
        if (i % 1000 != 0) continue;
        REQUIRE(spool.flush());
        if (spool.full()) CHECK(spool.compact(write_smaller));
        CHECK_FALSE(spool.full());
        largest = std::max<std::uint64_t>(largest, fs::file_size(spool.path()));
    }
    CHECK(largest < bound + 16 * 1024);
    CHECK(weight_in(spool.path()) == samples);
    CHECK(folder.files() == 1);
}

TEST_CASE("a spool filled by stacks is full at its bound, and can go on under another name") {
    const Folder folder;
    ProfileFile spool(folder / "a", {.keep = false}, bound);
    begin(spool);
    std::uint64_t stacks = 0;
    const std::uint64_t first = fill(spool, 1'000'000, stacks);
    CHECK(first < 1'000'000);
    CHECK(fs::file_size(spool.path()) < bound + 4096);
    REQUIRE(spool.move_to(folder / "a.part1"));
    CHECK(spool.path() == folder / "a.part1.fprobe");
    spool.grow();
    const std::uint64_t second = fill(spool, 1000, stacks);
    CHECK(second == 1000);
    CHECK(folder.files() == 1);
    CHECK(weight_in(folder / "a.part1.fprobe") == first + second);
}

TEST_CASE("a spool that cannot be moved keeps all it has, and is full again at each further bound") {
    const Folder folder;
    fs::create_directory(folder / "d");
    ProfileFile spool(folder / "d/a", {.keep = false}, bound);
    begin(spool);
    fs::create_directory(folder / "d/b.fprobe");  // refuses root too
    fs::rename(folder / "d", folder / "gone");    // the spool holds it open
    std::uint64_t stacks = 0, samples = fill(spool, 1'000'000, stacks);
    CHECK(spool.full());
    const auto moved = spool.move_to(folder / "d/b");
    REQUIRE_FALSE(moved);
    CHECK(moved.error().message.find("d/a.fprobe cannot be renamed") != std::string::npos);
    spool.grow();
    CHECK_FALSE(spool.full());
    samples += fill(spool, 1'000'000, stacks);
    CHECK(spool.full());
    CHECK(spool.bytes() > 2 * bound);
    CHECK(fs::file_size(folder / "gone/a.fprobe") == spool.bytes());
    CHECK(weight_in(folder / "gone/a.fprobe") == samples);
}

TEST_CASE("the parts of a profile stay within their bound together, and what is given up is counted") {
    const Folder folder;
    Rotation parts(8 * bound);
    CHECK(parts.file_bytes() == bound);
    CHECK(parts.newest().empty());
    std::uint64_t written = 0, kept = 0;
    for (unsigned part = 1; part <= 20; ++part) {
        ProfileFile spool(folder / "a", {.keep = true}, parts.file_bytes());
        begin(spool);
        std::uint64_t stacks = 0;
        const std::uint64_t samples = fill(spool, 1'000'000, stacks);
        written += samples;
        CHECK(parts.number() == part);
        CHECK(folder.bytes() + bound < parts.most_bytes() + 16 * 1024);
        REQUIRE(spool.move_to(parts.stem_when_over(folder / "a")));
        REQUIRE(parts.put_away(spool.path(), samples));
    }
    for (unsigned part = 1; part <= 20; ++part) {
        const std::string path = folder / ("a.part" + std::to_string(part) + ".fprobe");
        CHECK(fs::exists(path) == (part > 14));
        if (fs::exists(path)) kept += weight_in(path);
    }
    CHECK(parts.newest() == folder / "a.part20.fprobe");
    CHECK(parts.given_up() != 0);
    CHECK(kept + parts.given_up() == written);
    const std::string told = parts.describe(folder / "a");
    CHECK(told.find("7 parts") != std::string::npos);
    CHECK(told.find("a.part15.fprobe " + (folder / "a.part16.fprobe")) != std::string::npos);
    CHECK(told.find(folder / "a.fprobe") != std::string::npos);
    CHECK(told.find(std::to_string(parts.given_up()) + " samples") != std::string::npos);
}

TEST_CASE("a part that its user has moved elsewhere is not counted as given up") {
    const Folder folder;
    Rotation parts(8 * bound);
    for (int part = 0; part < 7; ++part) REQUIRE(parts.put_away(folder / "moved", 100));
    CHECK(parts.given_up() == 0);
    CHECK(parts.number() == 8);
}

// The account of CPU time that a profile carries.
#include "collect/recording.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "profile/reader.hpp"

using namespace flameprobe;

namespace {

/// What stands in a profile: the weights of its samples, by thread, and the last summary.
struct Told final : ProfileSink {
    explicit Told(const std::string& path) { REQUIRE(read_profile(path, *this)); }
    void run(const RunInfo&) override {}
    void string(std::uint32_t, const std::string&) override {}
    void mapping(MappingId, const Mapping&) override {}
    void location(LocationId, const Location&) override {}
    void stack(StackId, const StackNode&) override {}
    void thread(ThreadId, const Thread&) override {}
    void sample(const Sample& sample) override { weights += sample.weight; }
    void summary(const Summary& told) override { last = told; }

    std::uint64_t of_threads() const {
        std::uint64_t sum = 0;
        for (const auto& account : last.threads) sum += account.samples;
        return sum;
    }

    std::uint64_t weights = 0;
    Summary last;
};

class Folder {
public:
    Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string stem() const { return path_ + "/profile"; }

private:
    std::string path_ = "/tmp/flameprobe-test-XXXXXX";
};

RunInfo with_kernel() {
    RunInfo run;
    run.pid = static_cast<std::uint32_t>(::getpid());
    run.unwinder = "dwarf";
    run.engine = "ring";
    run.kernel = "on";
    run.period_ns = 1'000'000;
    return run;
}

void take(Recording& recording, std::uint32_t tid, int samples) {
    RawSample raw;
    raw.pid = static_cast<std::uint32_t>(::getpid());
    raw.tid = tid;
    for (int i = 0; i < samples; ++i) recording.sink().sample(raw);
}

}  // namespace

TEST_CASE("samples that are drained after the pause are in their thread's account") {
    const Folder folder;
    const auto main_thread = static_cast<std::uint32_t>(::getpid());
    Recording recording(with_kernel(), folder.stem(), {.keep = false}, 0, 1 << 20);
    REQUIRE(recording.resume());
    take(recording, main_thread, 3);
    recording.pause();
    take(recording, main_thread, 2);
    const std::uint32_t ended_thread = 4'000'000'000;
    take(recording, ended_thread, 1);
    const std::string path = recording.path();
    REQUIRE(recording.close());
    const Told told(path);
    CHECK(told.weights == 6);
    CHECK(told.last.samples == 6);
    CHECK(told.of_threads() == 6);
    CHECK(told.last.complete);
}

#include "outside/processes.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "example.hpp"
#include "outside/reader.hpp"
#include "profile/writer.hpp"
#include "recorded.hpp"
#include "temporary_file.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

/// A profile of one process with `samples` samples.
void write_process(const TemporaryFile& file, std::uint32_t pid, std::uint64_t samples) {
    ProfileWriter writer(file.open());
    RunInfo run;
    run.pid = pid;
    writer.run(run);
    writer.thread(0, {pid, "main"});
    for (std::uint64_t i = 0; i < samples; ++i) writer.sample({i * 1000, 0, 0, 1});
    REQUIRE(writer.flush());
}

void put_together(const std::vector<ProcessPart>& parts, const TemporaryFile& into) {
    const Descriptor file = into.open();
    const auto written = write_processes(parts, [&](std::string_view piece) {
        REQUIRE(::write(file.get(), piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
    });
    REQUIRE(written);
}

std::vector<ProcessPart> both(const std::string& one, const std::string& other) {
    auto parts = processes_of(one), more = processes_of(other);
    REQUIRE(parts);
    REQUIRE(more);
    parts->insert(parts->end(), more->begin(), more->end());
    return *parts;
}

}  // namespace

TEST_CASE("the processes of a run are in one file, each as it was recorded") {
    const TemporaryFile one, other, whole, again;
    write_process(one, 7, 3);
    write_process(other, 8, 5);
    CHECK(count_processes(one.path()) == 1);
    put_together(both(one.path(), other.path()), whole);
    CHECK(count_processes(whole.path()) == 2);
    const auto parts = processes_of(whole.path());
    REQUIRE(parts);
    REQUIRE(parts->size() == 2);
    CHECK((*parts)[0].run.pid == 7);
    CHECK((*parts)[0].hits == 3);
    CHECK((*parts)[1].run.pid == 8);
    CHECK((*parts)[1].hits == 5);

    auto source = ByteSource::open(whole.path());
    REQUIRE(source);
    for (const TemporaryFile* alone : {&one, &other}) {
        Recorded read, expected;
        REQUIRE(read_profile(*source, read));
        REQUIRE(read_profile(alone->path(), expected));
        CHECK(read.lines == expected.lines);
    }
    CHECK(!*has_more(*source));

    put_together(*parts, again);  // a result can be a part of the next
    CHECK(again.bytes() == whole.bytes());
}

TEST_CASE("a process that was killed leaves its whole blocks, and the others theirs") {
    const TemporaryFile one, other, whole;
    write_process(one, 7, 3);
    write_process(other, 8, 5);
    const std::string bytes = one.bytes();
    REQUIRE(::truncate(one.path().c_str(), 0) == 0);
    {
        const Descriptor file = one.open();
        const std::string torn = bytes + bytes.substr(8, 20);
        REQUIRE(::write(file.get(), torn.data(), torn.size()) == static_cast<ssize_t>(torn.size()));
    }
    put_together(both(one.path(), other.path()), whole);
    const auto parts = processes_of(whole.path());
    REQUIRE(parts);
    REQUIRE(parts->size() == 2);
    CHECK((*parts)[0].hits == 3);
    CHECK((*parts)[1].hits == 5);
}

TEST_CASE("what is no profile has no processes") {
    CHECK(!processes_of("/proc/self/exe"));
    CHECK(!processes_of("/nonexistent/x.fprobe"));
    CHECK(count_processes("/proc/self/exe") == 1);
}

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collect/profile_file.hpp"
#include "session/log.hpp"
#include "session/output_path.hpp"
#include "session/run_info.hpp"

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

class Folder {
public:
    Folder() {
        char name[] = "/tmp/flameprobe-test-XXXXXX";
        path_ = ::mkdtemp(name);
    }
    ~Folder() { fs::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
    }

private:
    fs::path path_;
};

void put_record(ProfileFile& spool) {
    RunInfo run;
    run.version = "test";
    spool.writer().run(run);
}

constexpr std::uint64_t roomy = std::uint64_t{1} << 30;  // bytes

OlderResults run_from_now() {
    OlderResults run;
    ::clock_gettime(CLOCK_REALTIME, &run.run_start);
    return run;
}

}  // namespace

TEST_CASE("paths are expanded, made absolute and numbered") {
    PathFacts facts{.executable = "redis-server", .pid = 42, .start_unix = 1234, .dump = 0, .directory = "/var/run"};
    CHECK(expand_path("flameprobe.%e.%p", facts) == "/var/run/flameprobe.redis-server.42");
    PathFacts odd = facts;
    odd.executable = "a\033[31m\nb c";
    CHECK(expand_path("/x/%e", odd) == "/x/a_[31m_b c");
    odd.executable = std::string(127, 'a') + "\u00e4" + "bc";
    CHECK(expand_path("/x/%e.%p", odd) == "/x/" + std::string(127, 'a') + ".42");
    CHECK(expand_path(whole_template("/x/"), facts) == "/x/flameprobe.redis-server.42");
    CHECK(whole_template("/x/y") == "/x/y");
    CHECK(expand_path("/x/%t-%n-%%p", facts) == "/x/1234-0-%p");
    facts.dump = 3;
    CHECK(expand_path("a", facts) == "/var/run/a.3");
    CHECK(expand_path("a.%n.b", facts) == "/var/run/a.3.b");
    CHECK(expand_path("a", facts, false) == "/var/run/a");
}

TEST_CASE("a spool has no file before it is created, and none after it is removed") {
    const Folder folder;
    ProfileFile spool(folder / "a", {.keep = true}, roomy);
    put_record(spool);
    CHECK(folder.files() == 0);
    REQUIRE(spool.create());
    REQUIRE(spool.flush());
    CHECK(fs::file_size(folder / "a.fprobe") > 0);
    spool.remove();
    CHECK(folder.files() == 0);
}

TEST_CASE("results of this run's other processes are never replaced, those of an older run are") {
    const Folder folder;
    std::ofstream(folder / "a.fprobe") << "old";
    SUBCASE("kept") {
        ProfileFile spool(folder / "a", {.keep = true}, roomy);
        REQUIRE(spool.create());
        CHECK(spool.stem() == folder / "a.2");
        ProfileFile third(folder / "a", {.keep = true}, roomy);
        REQUIRE(third.create());
        CHECK(third.path() == folder / "a.3.fprobe");
        CHECK(fs::file_size(folder / "a.fprobe") == 3);
    }
    SUBCASE("replaced") {
        ProfileFile spool(folder / "a", run_from_now(), roomy);
        CHECK(fs::file_size(folder / "a.fprobe") == 3);
        REQUIRE(spool.create());
        put_record(spool);
        REQUIRE(spool.flush());
        CHECK(fs::file_size(folder / "a.fprobe") > 3);
        CHECK(folder.files() == 1);
    }
    SUBCASE("replaced by one process only") {
        ProfileFile one(folder / "a", run_from_now(), roomy), other(folder / "a", run_from_now(), roomy);
        REQUIRE(one.create());
        REQUIRE(other.create());
        put_record(one);
        REQUIRE(one.flush());
        CHECK(one.path() == folder / "a.fprobe");
        CHECK(other.stem() == folder / "a.2");
        // It is still being written, although this run began later.
        ProfileFile next_run(folder / "a", run_from_now(), roomy);
        REQUIRE(next_run.create());
        CHECK(next_run.stem() == folder / "a.3");
    }
    SUBCASE("not replaced, as written since the run began") {
        OlderResults run;
        ProfileFile spool(folder / "a", run, roomy);
        REQUIRE(spool.create());
        CHECK(spool.stem() == folder / "a.2");
        CHECK(spool.avoided().empty());
    }
}

TEST_CASE("what another user may have put under a profile's name stays, and the profile gets another name") {
    const Folder folder;
    std::ofstream(folder / "target") << "old";
    SUBCASE("a link") { fs::create_symlink("target", folder / "a.fprobe"); }
    SUBCASE("a dangling link") { fs::create_symlink("nothing", folder / "a.fprobe"); }
    SUBCASE("a pipe") { REQUIRE(::mkfifo((folder / "a.fprobe").c_str(), 0600) == 0); }
    SUBCASE("a directory") { fs::create_directory(folder / "a.fprobe"); }
    SUBCASE("a file that every user may write") {
        std::ofstream(folder / "a.fprobe") << "planted";
        ::chmod((folder / "a.fprobe").c_str(), 0666);
    }
    ProfileFile spool(folder / "a", run_from_now(), roomy);
    REQUIRE(spool.create());
    put_record(spool);
    REQUIRE(spool.flush());
    CHECK(spool.path() == folder / "a.2.fprobe");
    CHECK(spool.avoided().find((folder / "a.fprobe") + " ") == 0);
    CHECK(fs::file_size(folder / "target") == 3);
    CHECK(folder.files() == 3);
}

TEST_CASE("a compacted profile does not replace what has taken its name meanwhile") {
    const Folder folder;
    ProfileFile spool(folder / "a", run_from_now(), 1);
    REQUIRE(spool.create());
    fs::rename(folder / "a.fprobe", folder / "moved");
    std::ofstream(folder / "a.fprobe") << "another's";
    put_record(spool);
    REQUIRE(spool.flush());
    spool.compact([](const std::string&, const Descriptor&) { return Result<void>(); });
    CHECK(fs::file_size(folder / "a.fprobe") == 9);
    CHECK(spool.path().find(".fprobe.new.") != std::string::npos);
}

TEST_CASE("a dump replaces an older run's, and no other process's of this run") {
    const Folder folder;
    const std::vector<Format> formats = {Format::folded, Format::svg};
    CHECK(unused_stem(folder / "d", formats, {}) == folder / "d");
    std::ofstream(folder / "d.svg") << "a dump";
    CHECK(unused_stem(folder / "d", formats, run_from_now()) == folder / "d");
    CHECK(unused_stem(folder / "d", formats, {}) == folder / "d.2");
    std::ofstream(folder / "d.2.folded") << "another";
    CHECK(unused_stem(folder / "d", formats, {.keep = true}) == folder / "d.3");
    CHECK(unused_stem(folder / "d", {Format::html}, {}) == folder / "d");
}

TEST_CASE("a message file is only ever appended to if it is this user's alone") {
    const Folder folder;
    std::ofstream(folder / "target") << "old";
    const std::string log = folder / "log";
    bool refused = true;
    SUBCASE("a link") { fs::create_symlink("target", log); }
    SUBCASE("a hard link") { fs::create_hard_link(folder / "target", log); }
    SUBCASE("a pipe") { REQUIRE(::mkfifo(log.c_str(), 0600) == 0); }
    SUBCASE("a file that others may write") {
        std::ofstream(log) << "";
        ::chmod(log.c_str(), 0664);
    }
    SUBCASE("a new one") { refused = false; }
    SUBCASE("one of ours") {
        std::ofstream(log) << "";
        ::chmod(log.c_str(), 0644);
        refused = false;
    }
    const bool has_size = fs::is_regular_file(log);
    const auto before = has_size ? fs::file_size(log) : 0;
    Log(LogMode::file, log).message("a line");
    Log(LogMode::file, log).message("another");
    CHECK(fs::file_size(folder / "target") == 3);
    if (refused && has_size) CHECK(fs::file_size(log) == before);
    if (!refused) CHECK(fs::file_size(log) == std::string("flameprobe: a line\nflameprobe: another\n").size());
}

TEST_CASE("a spool that cannot be created says where and what to do") {
    ProfileFile spool("/nonexistent-directory/a", {.keep = true}, roomy);
    const auto created = spool.create();
    REQUIRE_FALSE(created);
    CHECK(created.error().message.find("/nonexistent-directory/a.fprobe") == 0);
    CHECK(created.error().message.find("FLAMEPROBE_OUT") != std::string::npos);
}

TEST_CASE("a command keeps its empty arguments") {
    using namespace std::string_view_literals;
    CHECK(command_text("redis-server\0--save\0\0--port\0001\0"sv) == "redis-server --save '' --port 1");
    CHECK(command_text("redis-server\0--save\0\0"sv) == "redis-server --save ''");
    CHECK(command_text("./server\0"sv) == "./server");
    CHECK(command_text("nginx: worker process\0\0\0\0\0"sv) == "nginx: worker process");
}

TEST_CASE("what may be said again and again is said once, and no more than a thousand such things") {
    const Folder folder;
    Log log(LogMode::file, folder / "log");
    for (int turn = 0; turn < 2; ++turn)
        for (int number = 0; number < 1500; ++number) log.warn_once("thread " + std::to_string(number));
    std::ifstream lines(folder / "log");
    int count = 0;
    for (std::string line; std::getline(lines, line);) ++count;
    CHECK(count == 1000);
}

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collect/profile_file.hpp"
#include "session/output_path.hpp"

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

void put_sample(ProfileFile& spool) {
    RunInfo run;
    run.version = "test";
    spool.writer().run(run);
}

}  // namespace

TEST_CASE("paths are expanded, made absolute and numbered") {
    PathFacts facts{.executable = "redis-server", .pid = 42, .start_unix = 1234, .dump = 0, .directory = "/var/run"};
    CHECK(expand_path("flameprobe.%e.%p", facts) == "/var/run/flameprobe.redis-server.42");
    CHECK(expand_path("/x/%t-%n-%%p", facts) == "/x/1234-0-%p");
    facts.dump = 3;
    CHECK(expand_path("a", facts) == "/var/run/a.3");
    CHECK(expand_path("a.%n.b", facts) == "/var/run/a.3.b");
    CHECK(expand_path("a", facts, false) == "/var/run/a");
}

TEST_CASE("a spool has no file before it is created, and none after it is removed") {
    const Folder folder;
    ProfileFile spool(folder / "a", true);
    put_sample(spool);
    CHECK(folder.files() == 0);
    REQUIRE(spool.create());
    REQUIRE(spool.flush());
    CHECK(fs::file_size(folder / "a.fprobe") > 0);
    spool.remove();
    CHECK(folder.files() == 0);
}

TEST_CASE("results of other processes are never replaced; an older run's are, at once and whole") {
    const Folder folder;
    std::ofstream(folder / "a.fprobe") << "old";
    SUBCASE("kept") {
        ProfileFile spool(folder / "a", true);
        REQUIRE(spool.create());
        CHECK(spool.stem() == folder / "a.2");
        ProfileFile third(folder / "a", true);
        REQUIRE(third.create());
        CHECK(third.path() == folder / "a.3.fprobe");
        CHECK(fs::file_size(folder / "a.fprobe") == 3);
    }
    SUBCASE("replaced") {
        ProfileFile spool(folder / "a", false);
        CHECK(fs::file_size(folder / "a.fprobe") == 3);
        REQUIRE(spool.create());
        put_sample(spool);
        REQUIRE(spool.flush());
        CHECK(fs::file_size(folder / "a.fprobe") > 3);
        CHECK(folder.files() == 1);
    }
}

TEST_CASE("a spool that cannot be created says where and what to do") {
    ProfileFile spool("/nonexistent-directory/a", true);
    const auto created = spool.create();
    REQUIRE_FALSE(created);
    CHECK(created.error().message.find("/nonexistent-directory/a.fprobe") == 0);
    CHECK(created.error().message.find("FLAMEPROBE_OUT") != std::string::npos);
}

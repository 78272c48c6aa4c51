#include "results.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

using namespace flameprobe;

namespace {

class Directory {
public:
    Directory() { REQUIRE(mkdtemp(path_.data()) != nullptr); }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

    /// `age` seconds before time 1,000.
    void add(const std::string& name, int age) const {
        std::ofstream(*this / name) << "x";
        const timespec times[2] = {{1000 - age, 0}, {1000 - age, 0}};
        REQUIRE(utimensat(AT_FDCWD, (*this / name).c_str(), times, 0) == 0);
    }

private:
    std::string path_ = "/tmp/flameprobe-test-[x]-XXXXXX";  // [x] has a meaning in a pattern
};

}  // namespace

TEST_CASE("the best result is the command's own picture, the latest if it executed another program") {
    const Directory directory;
    directory.add("flameprobe.sh.42.svg", 5);
    directory.add("flameprobe.server.42.svg", 3);
    directory.add("flameprobe.server.42.2.svg", 1);
    directory.add("flameprobe.server.421.svg", 0);
    directory.add("flameprobe.server.42.folded", 0);
    const auto found = find_results(directory / "flameprobe.%e.%p", 42, {990, 0});
    CHECK(found.best == directory / "flameprobe.server.42.2.svg");
    CHECK(found.others == 3);
}

TEST_CASE("files from before the run do not count") {
    const Directory directory;
    directory.add("out.svg", 100);
    CHECK(find_results(directory / "out", 42, {990, 0}).best.empty());
    directory.add("out.fprobe", 1);
    CHECK(find_results(directory / "out", 42, {990, 0}).best == directory / "out.fprobe");
}

TEST_CASE("%% is a percent sign, and a child's result is taken where the command has none") {
    const Directory directory;
    directory.add("100%.7.svg", 1);
    CHECK(find_results(directory / "100%%.%p", 42, {990, 0}).best == directory / "100%.7.svg");
}

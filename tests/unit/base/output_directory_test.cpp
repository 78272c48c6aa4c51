#include "base/output_directory.hpp"

#include <doctest/doctest.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

constexpr uid_t nobody = 65534;

struct Folder {
    Folder() {
        char name[] = "/tmp/flameprobe-test-XXXXXX";
        path = ::mkdtemp(name);
    }
    ~Folder() { fs::remove_all(path); }
    std::string operator/(const std::string& name) const { return (path / name).string(); }
    fs::path path;
};

std::string error_of(const std::string& path) {
    const auto directory = OutputDirectory::of(path);
    return directory ? "" : directory.error().message;
}

}  // namespace

TEST_CASE("an output's directory is opened, or the error says why not") {
    const Folder folder;
    fs::create_directories(folder / "a/b");
    std::ofstream(folder / "file") << "";
    CHECK(error_of(folder / "a/b/x.svg").empty());
    CHECK(error_of(folder / "a/../a//b/./x.svg").empty());
    CHECK(error_of("x.svg").empty());
    CHECK(error_of("/x.svg").empty());
    CHECK(error_of(folder / "none/x.svg") == "its directory 'none' does not exist: mkdir -p makes it");
    CHECK(error_of(folder / "file/x.svg") == "Not a directory");
}

TEST_CASE("symbolic links in a path are followed if they are this user's or root's, not another user's") {
    const Folder folder;
    fs::create_directory(folder / "real");
    fs::create_symlink("real", folder / "relative");
    fs::create_symlink(folder / "relative", folder / "absolute");
    fs::create_symlink("loop", folder / "loop");
    const auto directory = OutputDirectory::of(folder / "absolute/x.svg");
    REQUIRE(directory);
    CHECK(directory->create("x.svg", 0644));
    CHECK(fs::exists(folder / "real/x.svg"));
    CHECK(error_of(folder / "loop/x.svg") == "Too many levels of symbolic links");
    CHECK(error_of("/proc/self/fd/x.svg").empty());
    if (::geteuid() != 0) return;
    REQUIRE(::lchown((folder / "relative").c_str(), nobody, nobody) == 0);
    const std::string error = "'relative' in its path is a symbolic link of another user, which is not followed";
    CHECK(error_of(folder / "relative/x.svg") == error);
    CHECK(error_of(folder / "absolute/x.svg") == error);
}

TEST_CASE("another user's file is an obstacle, ours is not") {
    const Folder folder;
    const auto directory = OutputDirectory::of(folder / "x");
    REQUIRE(directory);
    CHECK(directory->obstacle("x").empty());
    CHECK(directory->create("x", 0644));
    CHECK(directory->obstacle("x").empty());
    errno = 0;
    CHECK_FALSE(directory->create("x", 0644));
    CHECK(errno == EEXIST);
    if (::geteuid() == 0) {
        REQUIRE(::chown((folder / "x").c_str(), nobody, nobody) == 0);
        CHECK(directory->obstacle("x") == "belongs to user 65534");
    }
}

TEST_CASE("no file is created or opened through a dangling link") {
    const Folder folder;
    fs::create_symlink("nothing", folder / "x");
    const auto directory = OutputDirectory::of(folder / "x");
    REQUIRE(directory);
    CHECK_FALSE(directory->create("x", 0644));
    CHECK_FALSE(directory->open("x", O_RDONLY));
    CHECK_FALSE(fs::exists(folder / "nothing"));
}

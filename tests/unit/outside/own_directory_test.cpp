#include "outside/own_directory.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 65534;

struct Place {
    Place() {
        char name[] = "/tmp/flameprobe-test-XXXXXX";
        path = ::mkdtemp(name);
        std::ofstream(path / "victim") << "kept";
    }
    ~Place() { fs::remove_all(path); }
    fs::path path;
};

std::string fault_of(const fs::path& path) {
    const auto directory = OwnDirectory::open(path.string());
    return directory ? "" : directory.error().message;
}

}  // namespace

TEST_CASE("a directory that others own or may write is not taken, wherever it lies") {
    const Place place;
    const fs::path own = place.path / "own";
    REQUIRE(OwnDirectory::make((own / "a/b/").string()));
    CHECK(fault_of(own).empty());
    const std::string writable = "may be written by other users, who could have put links there";
    CHECK_FALSE(fault_of("/tmp").empty());
    REQUIRE(::chmod(own.c_str(), 0777) == 0);
    CHECK(fault_of(own) == writable);
    REQUIRE(::chmod(own.c_str(), 01777) == 0);
    CHECK(fault_of(own) == writable);
    REQUIRE(::chmod(own.c_str(), 0755) == 0);
    fs::create_directory_symlink(own, place.path / "link");
    CHECK(fault_of(place.path / "link").empty());  // ours
    if (::geteuid() != 0) return;
    REQUIRE(::chmod(own.c_str(), 0775) == 0);
    CHECK(fault_of(own).empty());  // the group of root alone
    REQUIRE(::chown(own.c_str(), 0, 50) == 0);
    CHECK(fault_of(own) == writable);
    REQUIRE(::chown(own.c_str(), stranger, 0) == 0);
    CHECK(fault_of(own) == "belongs to another user, who could have put links there");
    CHECK(fault_of(own / "a").empty());  // it is held open, so that nobody can put another one in its place
}

TEST_CASE("the way into a directory leads through no link and nobody else's directory") {
    const Place place;
    const auto own = OwnDirectory::open(place.path.string());
    REQUIRE(own);
    REQUIRE(own->make_in("runs/a/1"));
    REQUIRE(own->make_in("runs/a/1"));
    CHECK(own->enter("runs/a"));
    CHECK_FALSE(own->enter("runs/b"));
    fs::create_directory_symlink("a", place.path / "runs/link");
    CHECK_FALSE(own->make_in("runs/link/2"));
    CHECK_FALSE(fs::exists(place.path / "runs/a/2"));
    if (::geteuid() != 0) return;
    REQUIRE(::chown((place.path / "runs/a").c_str(), stranger, stranger) == 0);
    CHECK_FALSE(own->make_in("runs/a/2"));
    CHECK_FALSE(own->enter("runs/a/1"));
    CHECK_FALSE(fs::exists(place.path / "runs/a/2"));
}

TEST_CASE("a tree is deleted without what its links name") {
    const Place place;
    const auto own = OwnDirectory::open(place.path.string());
    REQUIRE(own);
    fs::create_directories(place.path / "tree/deep/er");
    std::ofstream(place.path / "tree/deep/file") << "gone";
    fs::create_directories(place.path / "elsewhere/kept");
    fs::create_directory_symlink(place.path / "elsewhere", place.path / "tree/deep/link");
    fs::create_directory_symlink("tree", place.path / "to-the-tree");
    CHECK(own->remove_tree("to-the-tree"));
    CHECK(fs::exists(place.path / "tree/deep/file"));
    CHECK(own->remove_tree("tree"));
    CHECK_FALSE(fs::exists(place.path / "tree"));
    CHECK(fs::exists(place.path / "elsewhere/kept"));
    CHECK(own->remove_tree("nothing"));
    if (::geteuid() != 0) return;
    fs::create_directories(place.path / "tree/theirs/data");
    REQUIRE(::chown((place.path / "tree/theirs").c_str(), stranger, stranger) == 0);
    const auto removed = own->remove_tree("tree");
    REQUIRE_FALSE(removed);
    CHECK(removed.error().message ==
          "tree/theirs: cannot be deleted: 'theirs' in it belongs to another user, who could have put links there");
    CHECK(fs::exists(place.path / "tree/theirs/data"));
}

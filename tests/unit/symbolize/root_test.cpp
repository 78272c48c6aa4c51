// Files of a container: paths and links begin at its root directory, and lead nowhere else.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/descriptor.hpp"
#include "symbolize/file_bytes.hpp"

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

class Root {
public:
    Root() : path_("/tmp/flameprobe-root-" + std::to_string(::getpid())) {
        fs::remove_all(path_);
        fs::create_directories(path_ / "lib");
        put("lib/own", "inside");
        directory_ = Descriptor(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    Root(const Root&) = delete;
    ~Root() { fs::remove_all(path_); }

    void put(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
    void link(const std::string& to, const std::string& name) const { fs::create_symlink(to, path_ / name); }
    const fs::path& path() const { return path_; }

    /// What the path leads to; "" if nowhere.
    std::string read(const std::string& path) const {
        const auto file = FileBytes::open(path, directory_.get());
        return file ? std::string(as_text((*file)->view(0, (*file)->size()))) : "";
    }

private:
    fs::path path_;
    Descriptor directory_;
};

}  // namespace

TEST_CASE("paths begin at the root directory that is given") {
    const Root root;
    CHECK(root.read("/lib/own") == "inside");
    CHECK(root.read("/etc/passwd").empty());
    CHECK(root.read("/../../../../../etc/passwd").empty());
}

TEST_CASE("links below another root directory do not lead out of it") {
    const Root root;
    root.link("/lib/own", "absolute");
    root.link("/lib", "lib64");
    root.link("/etc/passwd", "planted");
    root.link("../../../../../../../etc/passwd", "upwards");
    root.link("/proc/self/root/etc/passwd", "magic");
    CHECK(root.read("/absolute") == "inside");
    CHECK(root.read("/lib64/own") == "inside");
    for (const char* name : {"/planted", "/upwards", "/magic"}) CHECK(root.read(name).empty());
}

TEST_CASE("a FIFO below another root directory is not read") {
    const Root root;
    REQUIRE(::mkfifo((root.path() / "fifo").c_str(), 0600) == 0);
    CHECK(root.read("/fifo").empty());
}

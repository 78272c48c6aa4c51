#include "export/output.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "folded_text.hpp"
#include "sample_profile.hpp"

using namespace flameprobe;
namespace fs = std::filesystem;

namespace {

struct Directory {
    Directory() {
        std::string name = (fs::temp_directory_path() / "flameprobe-output-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Directory() { fs::remove_all(path); }
    std::string operator/(const char* name) const { return (path / name).string(); }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
    }
    fs::path path;
};

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string error_of(const Result<void>& result) { return result ? "" : result.error().message; }

/// Files cannot grow beyond `bytes` while it lives.
struct FileSizeLimit {
    explicit FileSizeLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &old);
        const rlimit now{bytes, old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &old); }
    rlimit old{};
};

const NamedProfile two_stacks = read_folded("main;a 3\nmain;b 4\n").profile;

}  // namespace

TEST_CASE("formats are found by name and by a path's ending") {
    for (const Format format : all_formats()) {
        const auto again = format_by_path("some/file" + std::string(ending_of(format)));
        REQUIRE(again);
        CHECK(*again == format);
    }
    CHECK(*format_by_path("x.speedscope.json") == Format::speedscope);
    CHECK(*format_by_path("x.otlp.json") == Format::otlp_json);
    CHECK(*format_by_path("x.otlp") == Format::otlp);
    CHECK(*format_by_path("x.json") == Format::json);
    CHECK(format_by_name("png").error().message ==
          "'png' is no format: use folded, svg, html, pprof, speedscope, firefox, otlp, otlp-json, json");
    CHECK(format_by_path("x.png").error().message.find(".folded, .svg") != std::string::npos);
}

TEST_CASE("a new file is written, and an older one replaced, which keeps its mode") {
    const Directory directory;
    const std::string path = directory / "x.folded";
    CHECK(error_of(write_output(two_stacks, Format::folded, path, {})).empty());
    CHECK(content(path) == "main;a 3\nmain;b 4\n");
    put(path, "old");
    ::chmod(path.c_str(), 0600);
    CHECK(error_of(write_output(two_stacks, Format::folded, path, {})).empty());
    CHECK(content(path) == "main;a 3\nmain;b 4\n");
    CHECK(directory.files() == 1);
    struct stat status {};
    ::stat(path.c_str(), &status);
    CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("an older result is not replaced by an empty one") {
    const Directory directory;
    const std::string path = directory / "x.svg";
    put(path, "old");
    const std::string error = error_of(write_output(NamedProfile{}, Format::svg, path, {}));
    CHECK(error == path + ": not written: the profile has no samples");
    CHECK(content(path) == "old");
    CHECK(directory.files() == 1);
}

TEST_CASE("no room: the older file stays, the new one is removed, and SIGXFSZ does not kill") {
    const Directory directory;
    const std::string path = directory / "x.folded";
    put(path, "old");
    std::string error;
    {
        const FileSizeLimit limit(5);
        error = error_of(write_output(two_stacks, Format::folded, path, {}));
    }
    CHECK(error ==
          path + ": cannot write: File too large; make room or choose another place (the earlier file is as it was)");
    CHECK(content(path) == "old");
    CHECK(directory.files() == 1);
    sigset_t pending;
    ::sigpending(&pending);
    CHECK(sigismember(&pending, SIGXFSZ) == 0);
}

TEST_CASE("a place that cannot be written is an error with its reason") {
    const Directory directory;
    CHECK(error_of(write_output(two_stacks, Format::folded, directory / "none/x.folded", {}))
              .find("none/x.folded: cannot create") != std::string::npos);
    CHECK(error_of(write_output(two_stacks, Format::folded, directory.path.string(), {})).find("is a directory") !=
          std::string::npos);
    CHECK(error_of(write_output(two_stacks, Format::folded, "/dev/full", {})).find("No space left") !=
          std::string::npos);
    CHECK(error_of(write_output(two_stacks, Format::folded, "/proc/none.folded", {})).find("cannot") !=
          std::string::npos);
    CHECK(directory.files() == 0);
}

TEST_CASE("a device is written, not replaced") {
    CHECK(error_of(write_output(two_stacks, Format::folded, "/dev/null", {})).empty());
    CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("only a regular file of this user that others may not write is replaced") {
    const Directory directory;
    put(directory / "target", "old");
    const std::string path = directory / "x.folded";
    std::string why;
    SUBCASE("a link") {
        fs::create_symlink("target", path);
        why = "is a symbolic link, which is not followed";
    }
    SUBCASE("a dangling link") {
        fs::create_symlink("nothing", path);
        why = "is a symbolic link, which is not followed";
    }
    SUBCASE("a pipe") {
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        why = "is no regular file";
    }
    SUBCASE("a directory") {
        fs::create_directory(path);
        why = "is a directory";
    }
    SUBCASE("a file that every user may write") {
        put(path, "planted");
        ::chmod(path.c_str(), 0666);
        why = "may be written by every user";
    }
    const std::string error = error_of(write_output(two_stacks, Format::folded, path, {}));
    CHECK(error == path + ": not written: it " + why + "; remove it, or choose another place");
    CHECK(content(directory / "target") == "old");
    CHECK(directory.files() == 2);
}

TEST_CASE("a hard link is replaced, and the file under its other name stays as it was") {
    const Directory directory;
    put(directory / "target", "old");
    fs::create_hard_link(directory / "target", directory / "x.folded");
    CHECK(error_of(write_output(two_stacks, Format::folded, directory / "x.folded", {})).empty());
    CHECK(content(directory / "target") == "old");
}

TEST_CASE("new files follow the umask, and are never writable by every user") {
    const Directory directory;
    for (const mode_t mask : {0077u, 0022u, 0002u, 0000u}) {
        const std::string path = directory / std::to_string(mask).c_str();
        const mode_t before = ::umask(mask);
        CHECK(error_of(write_output(two_stacks, Format::folded, path, {})).empty());
        ::umask(before);
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == (0664 & ~mask));
    }
}

TEST_CASE("a name as long as the file system allows can be written") {
    const Directory directory;
    const std::string path = directory / (std::string(248, 'n') + ".folded").c_str();
    CHECK(error_of(write_output(two_stacks, Format::folded, path, {})).empty());
    CHECK(content(path).size() > 0);
}

TEST_CASE("a closed pipe is an error") {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    ::close(ends[0]);
    const std::string error =
        error_of(write_output(two_stacks, Format::folded, "/dev/fd/" + std::to_string(ends[1]), {}));
    CHECK(error.find("pipe") != std::string::npos);
    ::close(ends[1]);
}

TEST_CASE("every format but HTML: no descriptor is left open, and equal profiles give equal bytes") {
    const Directory directory;
    const auto open_files = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    const auto before = open_files();
    for (const Format format : all_formats()) {
        if (format == Format::html) continue;
        CAPTURE(ending_of(format));
        CHECK(error_of(write_output(SampleProfile().get(), format, directory / "one", {})).empty());
        CHECK(error_of(write_output(SampleProfile().get(), format, directory / "two", {})).empty());
        CHECK(content(directory / "one").size() > 100);
        CHECK(content(directory / "one") == content(directory / "two"));
    }
    CHECK(open_files() == before);
}

TEST_CASE("a small profile that stands for much text leaves no output") {
    const Directory directory;
    std::string stack = "main", text;
    for (int depth = 0; depth < 500; ++depth) text += (stack += ";function" + std::to_string(depth)) + " 1\n";
    const NamedProfile profile = read_folded(text).profile;
    OutputOptions options;
    options.most_bytes = 100'000;
    const std::string error = error_of(write_output(profile, Format::folded, directory / "x.folded", options));
    CHECK(error.find("not written: it would be too large; make it of a part") != std::string::npos);
    CHECK(directory.files() == 0);
    CHECK(write_output(profile, Format::folded, directory / "x.folded", {}));
}

TEST_CASE("the documents name every format") {
    const auto text_of = [](const char* name) {
        std::string text = content(std::string(DOCUMENTS) + "/" + name);
        std::erase(text, '\\');  // a man page's hyphens
        REQUIRE(!text.empty());
        return text;
    };
    const auto lacking = [](const std::string& text, const std::string& list) {
        std::string lacks;
        std::istringstream items(list);
        for (std::string item; items >> item;)
            if (text.find(item) == std::string::npos) lacks += item + " ";
        return lacks;
    };
    for (const char* const document : {"README.md", "docs/man/flameprobe.1", "docs/man/flameprobe-render.1"}) {
        CAPTURE(document);
        CHECK(lacking(text_of(document), format_names(" ")) == "");
    }
    for (const char* const document : {"docs/formats.md", "docs/man/flameprobe-render.1"}) {
        CAPTURE(document);
        CHECK(lacking(text_of(document), format_endings(" ")) == "");
    }
}

#include "symbolize/file_bytes.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

using namespace flameprobe;

namespace {

class File {
public:
    explicit File(const std::string& contents) : path("file_bytes_test." + std::to_string(::getpid())) {
        std::ofstream(path) << contents;
    }
    File(const File&) = delete;
    ~File() { ::unlink(path.c_str()); }

    const std::string path;
};

}  // namespace

TEST_CASE("texts of a file end at a NUL, at the most that they may have, or with the file") {
    const std::string contents("\0name\0without end", 17);
    const File file(contents);
    const auto mapped = FileBytes::open(file.path);
    REQUIRE(mapped);
    const auto kept = FileBytes::from_memory(contents);
    for (const FileBytes* const bytes : {mapped->get(), kept.get()}) {
        CHECK(bytes->text(0, 9).empty());
        CHECK(bytes->text(1, 9) == "name");
        CHECK(bytes->text(1, 3) == "nam");
        CHECK(bytes->text(6, 99) == "without end");
        CHECK(bytes->text(17, 1).empty());
        CHECK(bytes->text(18, 1).empty());
    }
}

TEST_CASE("what is cut off a file while it is mapped reads as zeros") {
    const File file(std::string(100'000, 'x'));
    const auto bytes = FileBytes::open(file.path);
    REQUIRE(bytes);
    REQUIRE(::truncate(file.path.c_str(), 50'000) == 0);
    const std::string_view text = as_text((*bytes)->view(0, 100'000));
    CHECK(text.substr(0, 50'000).find_first_not_of('x') == text.npos);
    CHECK(text.substr(50'000).find_first_not_of('\0') == text.npos);
    std::array<std::byte, 16> end;
    CHECK_FALSE((*bytes)->read_into(90'000, end));
}

#include "symbolize/file_bytes.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

using namespace flameprobe;

TEST_CASE("texts of a file that is read are those of one that is mapped or in memory, and stay valid") {
    std::string contents(1, '\0');
    for (int i = 0; i < 300; ++i) contents += "name" + std::to_string(i) + '\0';
    contents += std::string(5000, 'x') + '\0' + "without end";
    const std::string path = "file_bytes_test." + std::to_string(::getpid());
    std::ofstream(path) << contents;
    const auto read = FileBytes::open(path, FileAccess::read), mapped = FileBytes::open(path, FileAccess::map);
    ::unlink(path.c_str());
    REQUIRE(read);
    REQUIRE(mapped);
    const auto kept = FileBytes::from_memory(contents);
    std::vector<std::string_view> found;
    for (std::uint64_t step = 0; step <= contents.size(); ++step) {
        const std::uint64_t at = step * 7919 % (contents.size() + 1);  // here and there, each once
        CAPTURE(at);
        for (const std::uint64_t most : {std::uint64_t{3}, std::uint64_t{contents.size()}}) {
            const std::string_view expected =
                std::string_view(contents).substr(at, most).substr(0, std::string_view(contents).substr(at).find('\0'));
            found.push_back((*read)->text(at, most));
            CHECK(found.back() == expected);
            CHECK((*mapped)->text(at, most) == expected);
            CHECK(kept->text(at, most) == expected);
        }
    }
    CHECK(found[2] == std::string_view(contents).substr(7919 % (contents.size() + 1), 3));
    CHECK((*read)->text(contents.size() + 1, 1).empty());
}

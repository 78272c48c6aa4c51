#include "unwind/code_map.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

namespace {

CodeRegion region(std::uint64_t start, std::uint64_t end, std::uint64_t offset = 0, const char* path = "/lib/a") {
    CodeRegion out;
    out.kind = RegionKind::file;
    out.start = start;
    out.end = end;
    out.file_offset = offset;
    out.path = path;
    return out;
}

}  // namespace

TEST_CASE("an address is found in its region and nowhere else") {
    CodeMap map;
    CHECK(map.find(0x1000) == nullptr);
    map.add(region(0x5000, 0x6000, 0, "/b"));
    map.add(region(0x1000, 0x2000, 0, "/a"));
    REQUIRE(map.find(0x1000) != nullptr);
    CHECK(map.find(0x1000)->path == "/a");
    CHECK(map.find(0x1fff)->path == "/a");
    CHECK(map.find(0x2000) == nullptr);
    CHECK(map.find(0xfff) == nullptr);
    CHECK(map.find(0x5fff)->path == "/b");
    CHECK(map.find(~std::uint64_t{0}) == nullptr);
    CHECK(map.generation() == 2);
}

TEST_CASE("a new mapping cuts what it covers, and what is left keeps its place in the file but not its id") {
    CodeMap map;
    const auto whole = map.add(region(0x1000, 0x9000, 0x400, "/old")).id;
    map.add(region(0x3000, 0x4000, 0, "/new"));
    REQUIRE(map.regions().size() == 3);
    const CodeRegion& before = *map.regions()[0];
    const CodeRegion& after = *map.regions()[2];
    CHECK(before.start == 0x1000);
    CHECK(before.end == 0x3000);
    CHECK(before.file_offset == 0x400);
    CHECK(map.find(0x3800)->path == "/new");
    CHECK(after.start == 0x4000);
    CHECK(after.end == 0x9000);
    CHECK(after.file_offset == 0x400 + 0x3000);
    for (const auto& left : map.regions()) CHECK(left->id != whole);
    CHECK(before.id != after.id);
}

TEST_CASE("a mapping that covers several replaces them all, at their edges too") {
    CodeMap map;
    for (std::uint64_t i = 0; i < 8; ++i) map.add(region(0x1000 * (i + 1), 0x1000 * (i + 2)));
    map.add(region(0x2800, 0x6800, 0, "/new"));
    REQUIRE(map.regions().size() == 6);
    CHECK(map.find(0x27ff)->path == "/lib/a");
    CHECK(map.find(0x2800)->path == "/new");
    CHECK(map.find(0x67ff)->path == "/new");
    CHECK(map.find(0x6800)->file_offset == 0x800);
    map.add(region(0, 0x100000, 0, "/all"));
    CHECK(map.regions().size() == 1);
}

TEST_CASE("an empty or inverted mapping changes nothing") {
    CodeMap map;
    map.add(region(0x1000, 0x3000, 0, "/a"));
    map.add(region(0x2000, 0x2000, 0, "/none"));
    map.add(region(0x2800, 0x2000, 0, "/inverted"));
    for (std::uint64_t address = 0x1000; address < 0x3000; address += 0x100) {
        REQUIRE(map.find(address) != nullptr);
        CHECK(map.find(address)->path == "/a");
    }
}

TEST_CASE("code of a just-in-time compiler goes on over adjacent mappings of anonymous memory") {
    CodeMap map;
    const auto anonymous = [](std::uint64_t start, std::uint64_t end) {
        CodeRegion region;
        region.start = start;
        region.end = end;
        return region;
    };
    map.add(region(0xf000, 0x10000, 0, "/lib/a"));
    map.add(anonymous(0x10000, 0x20000));
    map.add(anonymous(0x14000, 0x15000));  // as a change of permissions is reported
    REQUIRE(map.regions().size() == 4);
    CHECK(map.code_since(0x14010, 0x100) == 0x13f10);
    CHECK(map.code_since(0x15010, 0x8000) == 0x10000);  // not on into a file's code
    CHECK(map.code_since(0xf800, 0x8000) == 0xf000);
    map.add(anonymous(0x21000, 0x22000));
    CHECK(map.code_since(0x21010, 0x8000) == 0x21000);  // a gap
    CHECK(map.code_since(0x30000, 0x8000) == 0x30000);
}

#include <doctest/doctest.h>

#include <string>

#include "symbolize/named_profile.hpp"

using namespace flameprobe;

TEST_CASE("every distinct string is stored once, and its view stays valid") {
    StringTable table;
    CHECK(table.size() == 1);
    CHECK(table.view(0).empty());
    CHECK(table.intern("") == 0);
    const StringId first = table.intern("first");
    const std::string_view view = table.view(first);
    const std::string large(300'000, 'x');
    CHECK(table.view(table.intern(large)) == large);
    for (int i = 0; i < 50'000; ++i) {
        const std::string text = "name " + std::to_string(i);
        REQUIRE(table.view(table.intern(text)) == text);
    }
    CHECK(table.size() == 50'003);
    CHECK(table.intern("first") == first);
    CHECK(table.intern(std::string("with\0zero", 9)) != table.intern("with"));
    CHECK(view == "first");
    CHECK(table.view(first).data() == view.data());
}

TEST_CASE("a moved table keeps its views") {
    StringTable table;
    const StringId id = table.intern("kept");
    const StringTable moved = std::move(table);
    CHECK(moved.view(id) == "kept");
    table = StringTable();
    CHECK(table.view(table.intern("other")) == "other");
    CHECK(moved.view(id) == "kept");
}

#include "symbolize/symbol_table.hpp"

#include <doctest/doctest.h>

#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

const std::string unsized = TEST_VARIANTS "/unsized";

std::string name_at(const SymbolTable& table, std::uint64_t address) {
    const ElfSymbol* symbol = table.find(address);
    return symbol == nullptr ? "" : std::string(symbol->name);
}

}  // namespace

TEST_CASE("symbols without a size reach to the next one, and not out of their section") {
    const auto file = open_elf(unsized);
    REQUIRE(file != nullptr);
    auto at = addresses_of(unsized, "");
    SymbolTable table;
    table.add_table(*file, ".symtab");
    table.finish(*file);
    CHECK(name_at(table, at.at("first_unsized")) == "first_unsized");
    CHECK(name_at(table, at.at("first_unsized") + 1) == "first_unsized");
    CHECK(name_at(table, at.at("second_unsized")) == "second_unsized");
    CHECK(name_at(table, at.at("second_unsized") + 1) == "second_unsized");
    CHECK(name_at(table, at.at("sized") + 2) == "sized");  // behind a label without a size
    CHECK(name_at(table, at.at("alias")) == "alias");      // rather than __alias and weak_alias
    CHECK(name_at(table, at.at("gap")) == "gap");
    const ElfSection* section = file->code_section(at.at("other_unsized"));
    REQUIRE(section != nullptr);
    CHECK(name_at(table, at.at("other_unsized")) == "other_unsized");
    CHECK(name_at(table, section->address + section->size) != "other_unsized");
    CHECK(table.find(0) == nullptr);
    CHECK(table.find(~std::uint64_t{0}) == nullptr);
}

TEST_CASE("the innermost symbol wins, and the outer one is found behind it") {
    const auto file = open_elf(unsized);
    SymbolTable table;
    table.add({0x100, 0x200, "outer", true, 1});
    table.add({0x120, 0x130, "inner", true, 1});
    table.add({0x120, 0x128, "worse", true, 0});
    table.add({0x300, 0x310, "far", true, 1});
    table.finish(*file);
    CHECK(name_at(table, 0x11f) == "outer");
    CHECK(name_at(table, 0x125) == "inner");
    CHECK(name_at(table, 0x130) == "outer");
    CHECK(name_at(table, 0x200).empty());
    CHECK(name_at(table, 0x30f) == "far");
}

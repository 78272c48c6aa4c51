#include "symbolize/symbol_table.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

const std::string unsized = TEST_VARIANTS "/unsized";

std::string name_at(const SymbolTable& table, std::uint64_t address) {
    const ElfSymbol* symbol = table.find(address);
    return symbol == nullptr ? "" : std::string(symbol->name);
}

SymbolTable table_of(const ElfFile& file, SymbolTable table = {}) {
    table.add_table(file, ".symtab");
    table.add_table(file, ".dynsym");
    table.finish(file);
    return table;
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

TEST_CASE("a table for some addresses names them as the whole table does") {
    for (const std::string& path : {unsized, cxx_program}) {
        CAPTURE(path);
        const auto file = open_elf(path);
        REQUIRE(file != nullptr);
        const SymbolTable whole = table_of(*file);
        std::vector<std::uint64_t> addresses;
        for (const ElfSection& section : file->sections())
            for (std::uint64_t at = 0; (section.flags & SHF_EXECINSTR) != 0 && at <= section.size; ++at)
                addresses.push_back(section.address + at);
        REQUIRE(addresses.size() > 1);
        for (const std::size_t some : {std::size_t{1}, std::size_t{7}, std::size_t{50}}) {
            CAPTURE(some);
            // Addresses that lie far from each other, and all of the file in the end.
            const std::size_t apart = std::max<std::size_t>(addresses.size() / some, 1);
            for (std::size_t first = 0; first < apart; first += std::max<std::size_t>(apart / 100, 1)) {
                std::vector<std::uint64_t> wanted;
                for (std::size_t i = first; i < addresses.size(); i += apart) wanted.push_back(addresses[i]);
                const SymbolTable limited = table_of(*file, SymbolTable(wanted));
                for (const std::uint64_t address : wanted)
                    if (name_at(limited, address) != name_at(whole, address)) FAIL_CHECK(address);
                CHECK(limited.all().size() <= whole.all().size());
            }
        }
    }
}

TEST_CASE("names are read whole, whatever their length") {
    const auto file = open_elf("/proc/self/exe");
    REQUIRE(file != nullptr);
    const ElfSection* const table = file->find(".symtab");
    REQUIRE(table != nullptr);
    const ElfSection& names = file->sections()[table->link];
    const Bytes symbols = file->contents(*table), all_names = file->contents(names);
    std::size_t longest = 0;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol{};
        std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
        const std::string_view name = file->text(names, symbol.st_name);
        if (name != ByteReader(all_names, symbol.st_name).text()) FAIL_CHECK(name);
        longest = std::max(longest, name.size());
    }
    CHECK(longest > 256);
    CHECK(file->text(names, names.size - 1).empty());
    CHECK(file->text(names, names.size).empty());
    CHECK(file->text(names, ~std::uint64_t{0}).empty());
}

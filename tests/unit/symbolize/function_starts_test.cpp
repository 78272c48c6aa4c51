// Functions without a symbol: told apart by the unwind tables, and never given a neighbour's name.
#include <doctest/doctest.h>

#include <deque>
#include <set>

#include "symbolize/module.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

const std::string with_symbols = TEST_VARIANTS "/symtab";  // as `stripped`, but with its symbols
const std::string stripped = TEST_VARIANTS "/stripped";

std::vector<ElfSymbol> functions_of(const std::string& path, std::deque<std::string>& names) {
    const auto file = open_elf(path);
    SymbolTable table;
    table.add_table(*file, ".symtab");
    std::vector<ElfSymbol> functions;
    for (ElfSymbol symbol : table.all()) {
        if (symbol.end == symbol.start) continue;
        symbol.name = names.emplace_back(symbol.name);
        functions.push_back(symbol);
    }
    return functions;
}

std::string name_at(const std::string& path, std::uint64_t address, std::uint64_t bias = load_bias) {
    const auto file = open_elf(path);
    std::vector<std::string> warnings;
    const auto chains = symbolize({mapping_of(*file, bias)}, {{0, address + bias}}, {}, {}, warnings);
    REQUIRE(warnings.empty());
    return chains.at(0).at(0).name;
}

}  // namespace

TEST_CASE("functions of a stripped program are named by where they start, wherever it is loaded") {
    std::deque<std::string> names;
    std::set<std::string> seen;
    std::size_t count = 0;
    for (const ElfSymbol& function : functions_of(with_symbols, names)) {
        const std::string name(function.name);
        if (name.starts_with("_")  // the C library's: PLT, start files
            && !name.starts_with("_Z"))
            continue;
        if (name == "main" || name.starts_with("_Z")) {
            CAPTURE(name);
            ++count;
            for (const std::uint64_t at : {function.start, function.start + 1, function.end - 1}) {
                CHECK(name_at(stripped, at) == name_by_start(stripped, function.start));
                CHECK(name_at(stripped, at, 0x7fff00000000) == name_by_start(stripped, function.start));
            }
            seen.insert(name_at(stripped, function.start));
        }
    }
    CHECK(count >= 4);
    CHECK(seen.size() == count);
}

TEST_CASE("code that no FDE covers is [unknown in FILE]") {
    const auto file = open_elf(stripped);
    const FunctionStarts functions(*file);
    const ElfSection* const init = file->find(".init");  // crti.o's, without unwind tables
    REQUIRE(init != nullptr);
    CHECK_FALSE(functions.find(init->address).has_value());
    CHECK(name_at(stripped, init->address) == "[unknown in stripped]");
    CHECK_FALSE(functions.find(0).has_value());
    CHECK_FALSE(functions.find(~std::uint64_t{0}).has_value());
}

TEST_CASE("a neighbour's name is given only to what the unwind tables show to be the same function") {
    const std::string library = TEST_VARIANTS "/neighbours.so";
    const auto marks = addresses_of(TEST_VARIANTS "/neighbours-whole.so", "at_");
    REQUIRE(marks.size() == 4);
    // `exported` has no size: it would reach up to the next symbol.
    CHECK(name_at(library, marks.at("exported")) == "exported");
    CHECK(name_at(library, marks.at("exported_end")) == "exported");
    CHECK(name_at(library, marks.at("hidden")) == name_by_start(library, marks.at("hidden")));
    // The size of `too_short` is too small.
    CHECK(name_at(library, marks.at("short_end")) == "too_short");
}

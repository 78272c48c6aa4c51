
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "symbolize/symbol_table.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

TEST_CASE("sorted addresses are found as by a binary search, close together and far apart") {
    std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): the same every time
    for (int round = 0; round < 2000; ++round) {
        CAPTURE(round);
        std::vector<std::uint64_t> all(random() % 9);
        const auto any = [&] { return random() >> random() % 64; };  // of every size
        for (std::uint64_t& address : all) address = any();
        std::ranges::sort(all);
        const SortedAddresses sorted(all);
        const auto check = [&](std::uint64_t address) {
            const auto expected = std::ranges::lower_bound(all, address);
            CHECK(sorted.first_from(address) == static_cast<std::size_t>(expected - all.begin()));
            CHECK(sorted.has(address) == (expected != all.end() && *expected == address));
        };
        for (const std::uint64_t address : all)
            for (const std::uint64_t near : {address - 1, address, address + 1}) check(near);
        for (int i = 0; i < 4; ++i) check(any());
    }
}

TEST_CASE("functions that hold an address, the last before it and what reaches over that one are near it") {
    const std::vector<std::uint64_t> addresses = {100, 200};
    NearSymbols near(addresses);
    near.add(10, 90);  // reaches over the label at 80
    near.add(80, 80);  // the last before 100
    near.add(70, 75);
    near.add(150, 250);  // holds 200
    near.add(200, 200);  // begins there, without a size
    near.add(300, 400);
    CHECK(near.starts() == std::vector<std::uint64_t>{10, 80, 150, 200});
}

TEST_CASE("the functions that are near suffice to name an address, whatever tables hold") {
    const auto file = open_elf(TEST_VARIANTS "/unsized");
    REQUIRE(file != nullptr);
    const auto code = std::ranges::find(file->sections(), ".text", &ElfSection::name);
    REQUIRE(code != file->sections().end());
    constexpr std::uint64_t room = 60;
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same every time
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    for (int round = 0; round < 3000; ++round) {
        CAPTURE(round);
        std::vector<ElfSymbol> symbols;
        std::vector<std::string> names;
        for (std::uint64_t i = 0; i < 12; ++i) names.push_back(std::to_string(i));
        for (std::uint64_t i = 0; i < 12; ++i) {
            const std::uint64_t size = below(3) == 0 ? 0 : 1 + below(20), start = code->address + below(room);
            // One symbol for each start: which of several counts is another matter.
            if (std::ranges::find(symbols, start, &ElfSymbol::start) == symbols.end())
                symbols.push_back({start, start + size, names[i], size != 0, 1});
        }
        std::vector<std::uint64_t> addresses = {code->address + below(room), code->address + below(room)};
        std::ranges::sort(addresses);
        NearSymbols near(addresses);
        for (const ElfSymbol& symbol : symbols) near.add(symbol.start, symbol.end);
        const std::vector<std::uint64_t> starts = near.starts();
        SymbolTable whole, limited;
        for (const ElfSymbol& symbol : symbols) {
            whole.add(symbol);
            if (std::ranges::binary_search(starts, symbol.start)) limited.add(symbol);
        }
        whole.finish(*file);
        limited.finish(*file);
        for (const std::uint64_t address : addresses) {
            const ElfSymbol *expected = whole.find(address), *found = limited.find(address);
            REQUIRE((expected == nullptr) == (found == nullptr));
            if (found != nullptr) CHECK(found->name == expected->name);
        }
    }
}

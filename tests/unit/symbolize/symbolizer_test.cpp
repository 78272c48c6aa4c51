// What symbolize() does about files that are gone or changed, time that runs out, and threads.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "symbolize/module.hpp"
#include "symbolize/parallel.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::string read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

/// Some hundred addresses all over the code.
std::vector<std::uint64_t> many_addresses() {
    const auto file = open_elf(cxx_program);
    std::vector<std::uint64_t> addresses;
    const ElfSection* text = file->find(".text");
    for (std::uint64_t at = 0; at < text->size; ++at) addresses.push_back(text->address + at);
    return addresses;
}

bool same(const Symbol& a, const Symbol& b) {
    return a.name == b.name && a.file == b.file && a.line == b.line && a.decl_line == b.decl_line &&
           a.inlined == b.inlined;
}

}  // namespace

TEST_CASE("a file that was replaced is not used, with a warning") {
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    REQUIRE_FALSE(mapping.build_id.empty());
    mapping.build_id[0] = static_cast<char>(mapping.build_id[0] ^ 1);
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize({mapping}, {{0, address}}, {}, {}, warnings);
    CHECK(chains[0].at(0).name == "[unknown in cxx-dwarf5 (replaced)]");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("replaced") != std::string::npos);
    CHECK(warnings[0].find(cxx_program) != std::string::npos);
}

TEST_CASE("a file without a build id is known by device, inode, size and time") {
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    mapping.build_id.clear();
    mapping.file = file->bytes().identity();
    REQUIRE(mapping.file.known());
    SymbolizeOptions options;
    options.same_boot = true;
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    const auto name = [&] {
        std::vector<std::string> warnings;
        const std::string found = symbolize({mapping}, {{0, address}}, {}, options, warnings)[0].at(0).name;
        CHECK(warnings.size() == (found == "shop::leaf" ? 0 : 1));
        return found;
    };
    const FileIdentity mapped = mapping.file;
    CHECK(name() == "shop::leaf");
    for (const auto part : {&FileIdentity::inode, &FileIdentity::size, &FileIdentity::time_ns, &FileIdentity::device}) {
        ++(mapping.file.*part);
        CHECK(name() == "[unknown in cxx-dwarf5 (replaced)]");
        mapping.file = mapped;
    }
    mapping.file.size = mapping.file.time_ns = 0;  // no file at the path was the mapped one
    CHECK(name() == "[unknown in cxx-dwarf5 (replaced)]");
    mapping.file = {};  // an earlier version's profile does not know
    CHECK(name() == "shop::leaf");
    mapping.file = mapped;
    ++mapping.file.device;  // it may be another after a boot
    options.same_boot = false;
    CHECK(name() == "shop::leaf");
}

TEST_CASE("a deleted file is read through the hook, if that gives the right one") {
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    mapping.path = "/nowhere/server";
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    std::vector<std::string> warnings;

    SymbolChains chains = symbolize({mapping}, {{0, address}}, {}, {}, warnings);
    CHECK(chains[0].at(0).name == "[unknown in server]");
    CHECK(warnings.size() == 1);

    SymbolizeOptions options;
    options.read_image = [](const Mapping&) { return std::optional(read_all(cxx_program)); };
    warnings.clear();
    chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    REQUIRE(chains[0].size() == 3);
    CHECK(chains[0][0].name == "shop::leaf");
    CHECK(warnings.empty());

    options.read_image = [](const Mapping&) { return std::optional(read_all(TEST_VARIANTS "/cxx-gz")); };
    chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    CHECK(chains[0].at(0).name == "[unknown in server]");
    options.read_image = [](const Mapping&) { return std::optional<std::string>("rubbish"); };
    chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    CHECK(chains[0].at(0).name == "[unknown in server]");
}

TEST_CASE("a separate debug file names a program that is gone") {
    const std::string root = TEST_VARIANTS "/debug-root";
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    mapping.path = "/nowhere/server";
    SymbolizeOptions options;
    options.debug_directories = {root};
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    std::vector<std::string> warnings;
    const SymbolChains chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    REQUIRE(chains[0].size() == 3);
    CHECK(chains[0][2].name == "shop::Basket::total");
}

TEST_CASE("a mapping begins at its segment's page, for pages of any size") {
    // An aarch64 program's code, linked for pages of up to 64 KiB, at 0x1f5c0 of the program and 0xf5c0 of its file; a
    // debug file keeps the first.
    ElfSegment code;
    code.address = 0x1f5c0;
    code.alignment = 0x10000;
    CHECK(code.mapped_from(0xf000) == 0x1f000);  // pages of 4 KiB
    CHECK(code.mapped_from(0xc000) == 0x1c000);  // 16 KiB
    CHECK(code.mapped_from(0) == 0x10000);       // 64 KiB
    code.alignment = 1;                          // no alignment is known
    CHECK(code.mapped_from(0xf000) == 0x1f000);
}

TEST_CASE("past the deadline names come from symbol tables, with one warning") {
    SymbolizeOptions options;
    options.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
    const Named named = name_addresses(cxx_program, {addresses_of(cxx_program, "mark_").at("leaf")}, options);
    REQUIRE(named.chains[0].size() == 1);
    CHECK(named.chains[0][0].name == "shop::Basket::total");
    CHECK(named.chains[0][0].line == 0);
    REQUIRE(named.warnings.size() == 1);
    CHECK(named.warnings[0].find("flameprobe-render") != std::string::npos);
}

TEST_CASE("debug information is read unless it is not asked for") {
    SymbolizeOptions options;
    Named named = name_addresses(cxx_program, {addresses_of(cxx_program, "mark_").at("leaf")}, options);
    CHECK(named.chains[0].size() == 3);
    CHECK(named.warnings.empty());
    options.most_debug_bytes_in_all = 0;
    named = name_addresses(cxx_program, {addresses_of(cxx_program, "mark_").at("leaf")}, options);
    CHECK(named.chains[0].size() == 1);
    CHECK(named.warnings.empty());
}

TEST_CASE("any number of threads gives the same names, and progress adds up") {
    const std::vector<std::uint64_t> addresses = many_addresses();
    SymbolizeOptions options;
    options.workers = 1;
    const Named alone = name_addresses(cxx_program, addresses, options);
    options.workers = 4;
    std::size_t last = 0;
    options.progress = [&](std::size_t done, std::size_t all) {
        CHECK(done > last);
        CHECK(all == addresses.size());
        last = done;
    };
    const Named together = name_addresses(cxx_program, addresses, options);
    CHECK(last == addresses.size());
    REQUIRE(alone.chains.size() == together.chains.size());
    for (std::size_t i = 0; i < addresses.size(); ++i)
        CHECK(std::equal(alone.chains[i].begin(), alone.chains[i].end(), together.chains[i].begin(),
                         together.chains[i].end(), same));
}

TEST_CASE("a parallel loop does each item once, and passes exceptions on") {
    std::vector<std::atomic<int>> done(1000);
    run_parallel(8, done.size(), [&](std::size_t i) { ++done[i]; });
    for (const auto& count : done) CHECK(count == 1);
    run_parallel(3, 0, [](std::size_t) { FAIL("nothing to do"); });
    std::atomic<int> others = 0;
    CHECK_THROWS_AS(run_parallel(4, 100,
                                 [&](std::size_t i) {
                                     if (i == 50) throw std::bad_alloc();
                                     ++others;
                                 }),
                    std::bad_alloc);
    CHECK(others == 99);
    CHECK(allowed_cpus() >= 1);
}

TEST_CASE("debug information beyond the limit for all files is not read, with a note") {
    const auto file = open_elf(cxx_program);
    const Mapping mapping = mapping_of(*file);
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    std::vector<std::string> warnings, notes;
    SymbolizeOptions options;
    options.notes = &notes;
    CHECK(symbolize({mapping}, {{0, address}}, {}, options, warnings)[0].size() == 3);
    CHECK(notes.empty());
    options.most_debug_bytes_in_all = 1;
    const SymbolChains chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    REQUIRE(chains[0].size() == 1);
    CHECK(chains[0][0].name.find("shop::") == 0);  // from the symbol table
    CHECK(chains[0][0].file.empty());
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find("of 1 file:") != std::string::npos);
    CHECK(warnings.empty());
}

TEST_CASE("a separate debug file counts twenty times its size against the limit for all files") {
    const auto file = open_elf(cxx_program);
    Mapping mapping = mapping_of(*file);
    const std::uint64_t address = addresses_of(cxx_program, "mark_").at("leaf") + load_bias;
    SymbolizeOptions options;
    options.debug_directories = {TEST_VARIANTS "/debug-root"};
    std::vector<std::string> warnings;
    const auto frames_for = [&](std::uint64_t bytes) {
        options.most_debug_bytes_in_all = bytes;
        return symbolize({mapping}, {{0, address}}, {}, options, warnings)[0].size();
    };
    const auto size = [&] {
        ModuleProblems problems;
        return Module::open(mapping, options, problems).debug_size();
    };
    CHECK(frames_for(size()) == 3);
    mapping.path = "/nowhere/server";
    REQUIRE(size() > 0);
    CHECK(frames_for(20 * size() - 1) == 1);
    CHECK(frames_for(20 * size()) == 3);
}

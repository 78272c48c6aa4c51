// One small program in every form of debug information: each mark's functions, inlined copies and lines must be those
// of the source, whatever the form.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

const std::string directory = TEST_VARIANTS;
const std::string source = TEST_PROGRAMS "/calls.cpp";

struct Variant {
    std::string name, what, file, marks, debug_directory;
};

std::vector<Variant> variants() {
    std::vector<Variant> list;
    std::ifstream file(directory + "/variants.txt");
    for (std::string line; std::getline(file, line);) {
        Variant variant;
        std::istringstream(line) >> variant.name >> variant.what >> variant.file >> variant.marks >>
            variant.debug_directory;
        list.push_back(variant);
    }
    return list;
}

bool has(const char* tool) { return std::system(("command -v " + std::string(tool) + " >/dev/null").c_str()) == 0; }

/// What tools/packages/test.txt has the tools for: a form that was not built must not go unnoticed. (binutils' dwp does
/// not know DWARF 5, and has gone since Debian 13.)
std::vector<std::string> expected_variants() {
    std::vector<std::string> names = {"debuglink", "wrong-crc", "by-build-id", "symtab", "stripped", "mini", "zstd"};
    for (const std::string compiler : {"cxx-", "clang-"}) {
        for (const char* form :
             {"dwarf4", "split4", "dwp4", "llvm-dwp-144", "dwarf5", "split5", "llvm-dwp-145", "gz", "fixed-address"})
            names.push_back(compiler + form);
    }
    std::erase_if(names, [](const std::string& name) {
        return (name.find("llvm-dwp") != name.npos && !has("llvm-dwp-14")) || (name.ends_with("-dwp4") && !has("dwp"));
    });
    for (const char* form : {"dwz-alternate4", "dwz-single4"}) names.push_back(form);
#ifndef __clang__  // whose DWARF 5 has a section, .debug_addr, that dwz does not know
    for (const char* form : {"dwz-alternate5", "dwz-single5"}) names.push_back(form);
#endif
    return names;
}

struct Expected {
    std::string name;       // or how it starts and ends, around a `*`: compilers name lambdas differently
    std::string line_text;  // of the source
};

/// Innermost first, as the source has it.
const std::map<std::string, std::vector<Expected>> expected = {
    {"leaf",
     {{"shop::leaf", "MARK(leaf)"},
      {"shop::middle<long>", "// call of leaf"},
      {"shop::Basket::total", "// call of middle"}}},
    {"constructor", {{"shop::Basket::Basket", "MARK(constructor)"}, {"main", "// call of the constructor"}}},
    {"total", {{"shop::Basket::total", "MARK(total)"}}},
    {"hidden", {{"(anonymous namespace)::hidden", "MARK(hidden)"}}},
    {"lambda", {{"with_lambda(int)::*::operator()", "MARK(lambda)"}}},
    {"local_class", {{"with_local_class(int)::Local::run", "MARK(local_class)"}}},
    {"main", {{"main", "MARK(main)"}}},
};

bool matches(const std::string& name, const std::string& pattern) {
    const auto star = pattern.find('*');
    if (star == pattern.npos) return name == pattern;
    return name.starts_with(pattern.substr(0, star)) && name.ends_with(pattern.substr(star + 1));
}

void check_inlines(const std::vector<Symbol>& chain, const std::vector<Expected>& steps) {
    REQUIRE(chain.size() == steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CAPTURE(chain[i].name);
        CHECK(matches(chain[i].name, steps[i].name));
        CHECK(base_name(chain[i].file) == "calls.cpp");
        CHECK(chain[i].file.starts_with("/"));
        CHECK(chain[i].line == line_with(source, steps[i].line_text));
        CHECK(chain[i].inlined == (i + 1 < steps.size()));
        // GCC gives a lambda's operator() no line of its own.
        if (!chain[i].name.ends_with("operator()")) CHECK(chain[i].decl_line > 0);
        CHECK(chain[i].decl_line <= chain[i].line);
    }
}

void check_function(const std::vector<Symbol>& chain, const std::vector<Expected>& steps) {
    REQUIRE(chain.size() == 1);
    CAPTURE(chain[0].name);
    CHECK(matches(chain[0].name, steps.back().name));
    CHECK(chain[0].file.empty());
    CHECK_FALSE(chain[0].inlined);
}

void check_variant(const Variant& variant, const SymbolizeOptions& options) {
    const auto marks = addresses_of(variant.marks, "mark_");
    REQUIRE(marks.size() == expected.size());
    std::vector<std::uint64_t> addresses;
    for (const auto& [mark, address] : marks) addresses.push_back(address);
    const Named named = name_addresses(variant.file, addresses, options);
    CHECK(named.warnings.empty());
    REQUIRE(named.chains.size() == addresses.size());
    std::size_t i = 0;
    for (const auto& entry : marks) {
        const std::string& mark = entry.first;  // clang 14 captures no structured binding
        CAPTURE(mark);
        const std::vector<Symbol>& chain = named.chains[i++];
        const std::vector<Expected>& steps = expected.at(mark);
        if (variant.what == "inlines")
            check_inlines(chain, steps);
        else if (variant.what == "functions")
            check_function(chain, steps);
        else
            CHECK(chain.at(0).name == name_by_start(variant.file, function_start(variant.marks, entry.second)));
    }
}

}  // namespace

TEST_CASE("every form of debug information gives the same names, lines and inlined functions") {
    const std::vector<Variant> all = variants();
    for (const std::string& name : expected_variants()) {
        CAPTURE(name);
        CHECK(std::ranges::count(all, name, &Variant::name) == 1);
    }
    for (const Variant& variant : all) {
        CAPTURE(variant.name);
        SymbolizeOptions options;
        options.debug_directories.clear();
        if (variant.debug_directory != "-") options.debug_directories.push_back(variant.debug_directory);
        check_variant(variant, options);
    }
}

TEST_CASE("without its split debug information a program's lines are still found, with a warning") {
    const std::string moved = directory + "/moved-away";
    for (const Variant& variant : variants()) {
        if (variant.name != "cxx-split5") continue;
        // Neither the .dwo beside the program nor the one in the build's directory is reachable under another name.
        std::ifstream from(variant.file, std::ios::binary);
        std::stringstream bytes;
        bytes << from.rdbuf();
        std::string image = bytes.str();
        for (auto at = image.find("cxx-split5.dwo"); at != image.npos; at = image.find("cxx-split5.dwo", at))
            image[at] = 'X';
        std::ofstream(moved, std::ios::binary) << image;
        const auto marks = addresses_of(variant.marks, "mark_");
        const Named named = name_addresses(moved, {marks.at("leaf")}, {});
        REQUIRE(named.warnings.size() == 1);
        CHECK(named.warnings[0].find("Xxx-split5.dwo") != std::string::npos);
        REQUIRE(named.chains[0].size() == 1);
        CHECK(named.chains[0][0].name == "shop::Basket::total");
        CHECK(named.chains[0][0].line == line_with(source, "MARK(leaf)"));
        return;
    }
    FAIL("no split variant was built");
}

TEST_CASE("a compilation directory that is relative stands before a file's name once") {
    for (const char* name : {"relative4", "relative5"}) {
        CAPTURE(name);
        const std::string path = directory + "/" + name;
        const Named named = name_addresses(path, {addresses_of(path, "mark_").at("leaf")}, {});
        REQUIRE(named.chains[0].size() == 3);
        for (const Symbol& symbol : named.chains[0]) CHECK(symbol.file == "./shop/calls.cpp");
    }
}

TEST_CASE("a FIFO under the name of split debug information does not block") {
    // A reader of a FIFO waits for a writer, so a hang here is a hang of the host.
    std::string text = directory + "/with-fifo-XXXXXX";
    REQUIRE(::mkdtemp(text.data()) != nullptr);
    std::ifstream from(directory + "/cxx-split5", std::ios::binary);
    std::stringstream bytes;
    bytes << from.rdbuf();
    std::string image = bytes.str();
    for (auto at = image.find("cxx-split5.dwo"); at != image.npos; at = image.find("cxx-split5.dwo", at))
        image[at] = 'F';
    const std::string program = text + "/program";
    std::ofstream(program, std::ios::binary) << image;
    for (const std::string& path : {text + "/Fxx-split5.dwo", program + ".dwp"})
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const Named named = name_addresses(program, {addresses_of(program, "mark_").at("leaf")}, {});
    CHECK(named.chains[0].size() == 1);
    CHECK(named.warnings.size() == 1);
    for (const std::string& path : {text + "/Fxx-split5.dwo", program + ".dwp", program}) ::unlink(path.c_str());
    ::rmdir(text.c_str());
}

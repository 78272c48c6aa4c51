// The same addresses through binutils: addr2line for lines and inlining, objdump for the names of PLT stubs.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "symbolize/demangle.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::vector<std::string> output_of(const std::string& command) {
    std::vector<std::string> lines;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string line;
    for (int c; (c = std::fgetc(pipe)) != EOF;) {
        if (c != '\n') {
            line.push_back(static_cast<char>(c));
            continue;
        }
        lines.push_back(line);
        line.clear();
    }
    REQUIRE(::pclose(pipe) == 0);
    return lines;
}

std::string hex(std::uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%lx", static_cast<unsigned long>(address));
    return text;
}

struct Step {
    std::string function, place;  // FILE:LINE, the file without its directory
};

/// FUNCTION and FILE:LINE lines behind a line with each address.
std::vector<std::vector<Step>> addr2line(const std::string& path, const std::vector<std::uint64_t>& addresses) {
    const std::string list = TEST_VARIANTS "/oracle-addresses.txt";
    {
        std::ofstream file(list);
        for (const std::uint64_t address : addresses) file << hex(address) << '\n';
    }
    const auto lines = output_of("addr2line -a -i -f -e '" + path + "' < '" + list + "'");
    std::vector<std::vector<Step>> chains;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with("0x")) {
            chains.emplace_back();
            continue;
        }
        std::string place = base_name(lines[i + 1]);
        place = place.substr(0, place.find(" (discriminator"));
        chains.back().push_back({lines[i], place});
        ++i;
    }
    return chains;
}

/// Every byte of every function with a size, by nm.
std::vector<std::uint64_t> code_of(const std::string& path) {
    std::vector<std::uint64_t> addresses;
    for (const std::string& line : output_of("nm -S --defined-only '" + path + "'")) {
        std::uint64_t start = 0, size = 0;
        char type = 0;
        if (std::sscanf(line.c_str(), "%lx %lx %c", &start, &size, &type) != 3 || (type != 't' && type != 'T'))
            continue;
        for (std::uint64_t at = 0; at < size; ++at) addresses.push_back(start + at);
    }
    return addresses;
}

void compare(const std::string& path) {
    const std::vector<std::uint64_t> addresses = code_of(path);
    REQUIRE(addresses.size() > 100);
    const auto theirs = addr2line(path, addresses);
    const Named ours = name_addresses(path, addresses, {});
    REQUIRE(theirs.size() == addresses.size());
    std::size_t known = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (theirs[i][0].place.starts_with("?") || theirs[i][0].place.ends_with(":?")) continue;
        ++known;
        CAPTURE(hex(addresses[i]));
        CAPTURE(theirs[i][0].function);
        REQUIRE(ours.chains[i].size() == theirs[i].size());
        for (std::size_t depth = 0; depth < theirs[i].size(); ++depth) {
            const Symbol& symbol = ours.chains[i][depth];
            CHECK(base_name(symbol.file) + ":" + std::to_string(symbol.line) == theirs[i][depth].place);
            if (theirs[i][depth].function.starts_with("mark_")) continue;  // a label is a function to addr2line
            // addr2line names inlined constructors without their class.
            const std::string name = demangle(theirs[i][depth].function);
            CHECK(symbol.name.substr(symbol.name.size() - std::min(symbol.name.size(), name.size())) == name);
        }
    }
    CHECK(known * 2 > addresses.size());
}

}  // namespace

TEST_CASE("addr2line agrees on every byte of the small program") {
    for (const char* name : {"cxx-dwarf4", "cxx-dwarf5", "cxx-gz", "cxx-fixed-address"}) {
        CAPTURE(name);
        compare(std::string(TEST_VARIANTS "/") + name);
    }
}

TEST_CASE("objdump agrees on the names of PLT stubs") {
    for (const char* name : {"plt-lazy", "plt-now", "plt-ibt", "plt-fixed-address"}) {
        CAPTURE(name);
        const std::string path = std::string(TEST_VARIANTS "/") + name;
        std::vector<std::uint64_t> addresses;
        std::vector<std::string> names;
        for (const std::string& line : output_of("objdump -d '" + path + "'")) {
            const auto open = line.find(" <"), close = line.find("@plt>:");
            if (open == line.npos || close == line.npos || line.find("*ABS*") != line.npos) continue;
            addresses.push_back(std::stoull(line, nullptr, 16));
            names.push_back(line.substr(open + 2, close - open + 2));
        }
        REQUIRE(names.size() >= 3);
        const Named ours = name_addresses(path, addresses, {});
        for (std::size_t i = 0; i < names.size(); ++i) {
            // objdump keeps the version (`puts@GLIBC_2.2.5@plt`) where the symbol table does.
            CHECK(ours.chains[i].at(0).name == names[i].substr(0, names[i].find('@')) + "@plt");
        }
    }
}

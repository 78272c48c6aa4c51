// Files that are cut off or damaged: any names may come out, but no crash, no hang, no read out of bounds (ASan).
#include <doctest/doctest.h>
#include <elf.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "base/byte_reader.hpp"
#include "symbolize/file_bytes.hpp"
#include "test_program.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

std::string read_variant(const std::string& name) {
    std::ifstream file(TEST_VARIANTS "/" + name, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

/// Names every 16th byte of the first 8 KiB of a file with these bytes; gives the number of steps found.
std::size_t name_image(const std::string& image) {
    SymbolizeOptions options;
    options.workers = 1;
    options.debug_directories.clear();
    options.read_image = [&](const Mapping&) { return std::optional(image); };
    Mapping mapping;
    mapping.kind = MappingKind::file;
    mapping.path = "/nowhere/damaged";
    mapping.size = 0x2000;
    std::vector<Location> locations;
    for (std::uint64_t address = 0; address < mapping.size; address += 16) locations.push_back({0, address});
    std::vector<std::string> warnings;
    std::size_t steps = 0;
    for (const auto& chain : symbolize({mapping}, locations, {}, options, warnings)) {
        REQUIRE_FALSE(chain.empty());
        for (const Symbol& symbol : chain) REQUIRE_FALSE(symbol.name.empty());
        steps += chain.size();
    }
    return steps;
}

/// Where damage does most: the debug sections, or else the headers.
std::size_t interesting_offset(const ElfFile& file, std::mt19937& random) {
    if (random() % 8 == 0) return random() % 1024;
    std::vector<const ElfSection*> sections;
    for (const ElfSection& section : file.sections())
        if (section.size > 0 && section.type != 8 &&
            (section.name.starts_with(".debug_") || section.name.starts_with(".gnu") ||
             section.name.starts_with(".symtab") || section.name.starts_with(".rela")))
            sections.push_back(&section);
    if (sections.empty()) return random() % 1024;
    const ElfSection& section = *sections[random() % sections.size()];
    return section.offset + random() % section.size;
}

}  // namespace

TEST_CASE("damaged files give names, and no crash") {
    std::mt19937 random(5);  // the same damage in every run
    for (const char* name :
         {"cxx-dwarf4", "cxx-dwarf5", "cxx-split5", "cxx-gz", "symtab", "plt-lazy", "linked/calls"}) {
        const std::string good = read_variant(name);
        const auto file = open_elf(std::string(TEST_VARIANTS "/") + name);
        REQUIRE(file != nullptr);
        CHECK(name_image(good) >= 512);
        for (int round = 0; round < 50; ++round) {
            std::string image = good;
            for (unsigned damage = 1 + random() % 8; damage > 0; --damage) {
                const std::size_t at = interesting_offset(*file, random);
                if (at >= image.size()) continue;
                const char bytes[] = {'\0', '\xff', '\x7f', '\x80', static_cast<char>(random())};
                image[at] = bytes[random() % sizeof bytes];
            }
            name_image(image);
        }
    }
}

TEST_CASE("files that end too early give names, and no crash") {
    const std::string good = read_variant("cxx-dwarf5");
    std::mt19937 random(6);
    for (std::size_t size = 0; size < 200; ++size) name_image(good.substr(0, size));
    for (int round = 0; round < 100; ++round) name_image(good.substr(0, random() % good.size()));
}

TEST_CASE("a line table that would take too much memory is left out, with a warning") {
    std::string image = read_variant("cxx-dwarf5");
    const std::string path = TEST_VARIANTS "/cxx-dwarf5";
    const auto file = open_elf(path);
    const std::uint32_t size = 9 << 20;
    std::memcpy(image.data() + file->find(".debug_line")->offset, &size, sizeof size);
    SymbolizeOptions options;
    options.read_image = [&](const Mapping&) { return std::optional(image); };
    Mapping mapping = mapping_of(*file);
    mapping.path = "/nowhere/large";
    std::vector<std::string> warnings;
    const std::uint64_t address = addresses_of(path, "mark_").at("leaf") + load_bias;
    const auto chains = symbolize({mapping}, {{0, address}}, {}, options, warnings);
    REQUIRE(chains[0].size() == 3);
    CHECK(chains[0][0].name == "shop::leaf");
    CHECK(chains[0][0].line == 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find("some line numbers are missing") != std::string::npos);
}

TEST_CASE("numbers past the end, and strings without a zero, stop at the end") {
    const std::string ones(100, '\xff');
    const Bytes bytes = std::as_bytes(std::span(ones));
    ByteReader cursor(bytes);
    CHECK(cursor.text().empty());
    CHECK_FALSE(cursor.ok());
    cursor = ByteReader(bytes, 101);
    CHECK_FALSE(cursor.ok());
    CHECK(cursor.u64() == 0);
    cursor = ByteReader(bytes, 98);
    CHECK(cursor.u32() == 0);
    CHECK_FALSE(cursor.ok());
    cursor = ByteReader(bytes, 96);
    CHECK(cursor.u32() == 0xffffffff);
    CHECK(cursor.ok());
    CHECK(cursor.at_end());
}

TEST_CASE("compressed data with a wrong size in its header is refused") {
    CHECK(decompress_section({}).empty());
    std::string huge(24, '\0');
    huge[0] = 1;                                              // ELFCOMPRESS_ZLIB
    huge[8 + 4] = 1;                                          // 4 GiB and more
    huge += std::string("x\x9c\x03\x00\x00\x00\x00\x01", 8);  // of nothing
    CHECK(decompress_section(std::as_bytes(std::span(huge))).empty());
    CHECK(decompress_xz(std::as_bytes(std::span(huge))).empty());
    for (const std::size_t announced : {0, 1, 3, 4, 200}) {
        // A zstd frame of the three bytes "abc", stored raw (RFC 8878: single segment, content size 3, last block).
        std::string zstd(24, '\0');
        zstd[0] = 2;  // ELFCOMPRESS_ZSTD
        zstd[8] = static_cast<char>(announced);
        zstd += std::string("\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00", 9) + "abc";
        CHECK(decompress_section(std::as_bytes(std::span(zstd))) == (announced == 3 ? "abc" : ""));
        for (std::size_t size = 0; size < zstd.size(); ++size)
            CHECK(decompress_section(std::as_bytes(std::span(zstd).first(size))).empty());
    }
}

TEST_CASE("compressed data that would grow more than debug information does is refused") {
    const auto section_of = [](std::size_t size) {
        const std::string plain(size, 'x');
        std::string packed(ZSTD_compressBound(size), '\0');
        const std::size_t made = ZSTD_compress(packed.data(), packed.size(), plain.data(), size, 1);
        REQUIRE_FALSE(ZSTD_isError(made));
        Elf64_Chdr header{};
        header.ch_type = 2;  // ELFCOMPRESS_ZSTD
        header.ch_size = size;
        return std::string(reinterpret_cast<const char*>(&header), sizeof header) + packed.substr(0, made);
    };
    const std::string little = section_of(8 << 20), much = section_of(64 << 20);
    REQUIRE(much.size() < 100'000);
    CHECK(decompress_section(std::as_bytes(std::span(little))).size() == 8 << 20);
    CHECK(decompress_section(std::as_bytes(std::span(much))).empty());
}

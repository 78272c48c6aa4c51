// The file behind a mapping: the right one, or none.
#include "unwind/elf_image.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "live_map.hpp"
#include "machine_code.hpp"
#include "unwind/cfi_tables.hpp"

extern "C" void assembly_with_debug_frame(void (*callback)());
extern "C" void assembly_leaf();

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

CodeRegion region_of(const void* address) {
    CodeMap map;
    add_own_mappings(map);
    const CodeRegion* const found = map.find(reinterpret_cast<std::uint64_t>(address));
    REQUIRE(found != nullptr);
    return *found;
}

/// libc's code, found by a function that sanitizers do not replace.
CodeRegion library_region() { return region_of(reinterpret_cast<const void*>(&::getppid)); }

CodeRegion vdso_region() {
    CodeMap map;
    add_own_mappings(map);
    for (const auto& region : map.regions())
        if (region->kind == RegionKind::vdso) return *region;
    return {};
}

bool same_rules(const CodeRegion& region, CfiTables& a, std::uint64_t bias_a, CfiTables& b, std::uint64_t bias_b) {
    std::size_t rules = 0;
    for (std::uint64_t address = region.start; address < region.end; address += 97) {
        const UnwindRule left = a.rule(address, bias_a), right = b.rule(address, bias_b);
        if (left.kind != right.kind || left.cfa_offset != right.cfa_offset || left.ra_slot != right.ra_slot ||
            left.fp_slot != right.fp_slot || left.third_slot != right.third_slot)
            return false;
        rules += left.kind == RuleKind::step;
    }
    return rules > 100;
}

}  // namespace

TEST_CASE("a library's tables are the same from disk and from memory") {
    const CodeRegion region = library_region();
    auto disk = ElfImage::from_file(region);
    auto memory = ElfImage::from_memory(region);
    REQUIRE(disk.has_value());
    REQUIRE(memory.has_value());
    CHECK_FALSE(disk->in_memory());
    CHECK(memory->in_memory());
    CHECK(disk->build_id().size() == 20);
    CHECK(disk->build_id() == memory->build_id());
    const auto disk_bias = disk->bias(region), memory_bias = memory->bias(region);
    REQUIRE(disk_bias.has_value());
    CHECK(disk_bias == memory_bias);
    CfiTables from_disk(std::move(*disk)), from_memory(std::move(*memory));
    CHECK(same_rules(region, from_disk, *disk_bias, from_memory, *memory_bias));
}

TEST_CASE("this program's bias is the same from disk and from memory, although its headers lie before its code") {
    const CodeRegion region = region_of(reinterpret_cast<const void*>(&add_own_mappings));
    auto disk = ElfImage::from_file(region), memory = ElfImage::from_memory(region);
    REQUIRE(disk.has_value());
    REQUIRE(memory.has_value());
    CHECK(disk->bias(region) == memory->bias(region));
}

TEST_CASE("a file that is not the one mapped is refused") {
    CodeRegion region = library_region();
    SUBCASE("by its build id") { region.build_id = std::string(20, 'x'); }
    SUBCASE("by its inode and its code") { region.path = "/proc/self/exe"; }
    SUBCASE("it is gone") { region.path = "/nonexistent/lib.so"; }
    SUBCASE("it is a directory") { region.path = "/tmp"; }
    CHECK_FALSE(ElfImage::from_file(region).has_value());
    CHECK(ElfImage::from_memory(region).has_value());
}

TEST_CASE("a file with the mapped code is the mapped one, whatever inode a file system of layers shows") {
    CodeRegion region = library_region();
    region.inode += 1;
    region.device += 1;
    const auto image = ElfImage::from_file(region);
    REQUIRE(image.has_value());
    CHECK(image->file().inode == region.inode - 1);
    CHECK(image->file().size == std::filesystem::file_size(region.path));
}

TEST_CASE("a build id counts more than an inode, which some file systems report differently") {
    CodeRegion region = library_region();
    region.build_id = ElfImage::from_file(region)->build_id();
    region.inode += 1;
    CHECK(ElfImage::from_file(region).has_value());
}

TEST_CASE("a FIFO does not block, and garbage is no ELF file") {
    const std::string path = std::filesystem::temp_directory_path() / ("elf-image-" + std::to_string(::getpid()));
    CodeRegion region = library_region();
    region.inode = 0;
    region.path = path;
    SUBCASE("FIFO") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
    SUBCASE("empty") { std::ofstream{path}; }
    SUBCASE("text") { std::ofstream(path) << "#!/bin/sh\n"; }
    SUBCASE("a header and nothing else") { std::ofstream(path) << "\177ELF\2\1\1" << std::string(57, '\0'); }
    const auto image = ElfImage::from_file(region);
    if (image) CHECK_FALSE(image->bias(region).has_value());
    ::unlink(path.c_str());
}

TEST_CASE("the vdso is read from memory") {
    const CodeRegion region = vdso_region();
    if (region.end == 0) {
        MESSAGE("this kernel maps no vdso");
        return;
    }
    auto image = ElfImage::from_memory(region);
    REQUIRE(image.has_value());
    CHECK(image->bias(region) == region.start);
    CfiTables tables(std::move(*image));
    std::size_t rules = 0;
    for (std::uint64_t address = region.start; address < region.end; ++address)
        rules += tables.rule(address, region.start).kind == RuleKind::step;
    CHECK((rules > 100) == vdso_has_tables);
}

TEST_CASE("memory that is not mapped gives nothing") {
    CodeRegion region = library_region();
    region.start = 0x10000;
    region.end = 0x20000;
    region.file_offset = 0;
    CHECK_FALSE(ElfImage::from_memory(region).has_value());
}

TEST_CASE(".debug_frame gives rules where .eh_frame has none, and code without CFI has no rule") {
    const auto address = reinterpret_cast<std::uint64_t>(&assembly_with_debug_frame);
    const CodeRegion region = region_of(reinterpret_cast<const void*>(address));
    auto image = ElfImage::from_file(region);
    REQUIRE(image.has_value());
    const std::uint64_t bias = image->bias(region).value_or(0);
    CfiTables tables(std::move(*image));
    const UnwindRule rule = tables.rule(address + push_bytes, bias);
    CHECK(rule.kind == RuleKind::step);
    CHECK(rule.cfa_offset == cfa_behind_push);
    CHECK(rule.fp_slot == -cfa_behind_push);
    CHECK(tables.rule(reinterpret_cast<std::uint64_t>(&assembly_leaf), bias).kind == RuleKind::no_cfi);
}

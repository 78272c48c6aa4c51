// Which description covers an address: by pages of a file, from memory, by a list where there is no search table.
#include "unwind/frame_sections.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/elf_head.hpp"
#include "cfi_bytes.hpp"
#include "live_map.hpp"
#include "unwind/cfi_tables.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

CodeRegion libc_region() {
    CodeMap map;
    add_own_mappings(map);
    const CodeRegion* const found = map.find(reinterpret_cast<std::uint64_t>(&::getppid));
    REQUIRE(found != nullptr);
    return *found;
}

/// An ELF file that has one section, at address 0.
MemoryMap file_of(std::string_view name, std::span<const std::byte> bytes, std::uint64_t flags = 0) {
    constexpr std::uint64_t behind_head = 512;
    const NamedSection section{name, behind_head, bytes.size()};
    std::string head = elf_head({&section, 1}, EM_X86_64);
    Elf64_Shdr header;
    std::memcpy(&header, head.data() + sizeof(Elf64_Ehdr) + sizeof header, sizeof header);
    header.sh_flags = flags;
    std::memcpy(head.data() + sizeof(Elf64_Ehdr) + sizeof header, &header, sizeof header);
    MemoryMap file = MemoryMap::reserve(behind_head + bytes.size());
    std::memcpy(file.data(), head.data(), head.size());
    std::memcpy(file.data() + behind_head, bytes.data(), bytes.size());
    return file;
}

bool finds_description(const DebugFrame& frames) {
    const auto entry = frames.entry_of(code_start + 8);
    return entry && entry->start == code_start && entry->end == code_end && !frames.entry_of(code_end);
}

HandMadeSection debug_section() {
    HandMadeSection section;
    section.is_debug_frame = true;
    section.augmentation.clear();
    section.augmentation_data.clear();
    return section;
}

}  // namespace

TEST_CASE("of a library's tables a search finds what a list of the whole section has, whatever is asked for first") {
    const auto image = ElfImage::from_file(libc_region());
    REQUIRE(image);
    EhFrame found(*image);
    CHECK(found.size() > 1000);
    const auto section = image->section(".eh_frame");
    REQUIRE(section);
    std::vector<std::byte> bytes(section->sh_size);
    REQUIRE(image->read(section->sh_offset, bytes) == bytes.size());
    const CfiSection whole{bytes, section->sh_addr};
    const CfiList list(whole, false);
    CHECK(list.size() == found.size());
    std::vector<std::uint64_t> addresses;
    const CodeRegion region = libc_region();
    for (std::uint64_t at = 0; at < region.end - region.start; at += 61) addresses.push_back(region.file_offset + at);
    std::shuffle(addresses.begin(), addresses.end(), std::minstd_rand(1));
    std::size_t entries = 0;
    for (const std::uint64_t address : addresses) {
        CAPTURE(address);
        const auto expected = list.entry_of(whole, address), entry = found.entry_of(address);
        REQUIRE(entry.has_value() == expected.has_value());
        REQUIRE(found.start_of(address) == list.start_of(address));
        REQUIRE(found.next_start(address) == list.next_start(address));
        if (!entry) continue;
        ++entries;
        REQUIRE(entry->start == expected->start);
        REQUIRE(std::ranges::equal(entry->instructions, expected->instructions));
    }
    CHECK(entries > addresses.size() / 2);
}

TEST_CASE("pages are read when they are wanted, and none beyond the file") {
    const auto image = ElfImage::from_file(libc_region());
    REQUIRE(image);
    FilePages pages(*image, 0, image->file().size + 4096);
    CHECK(pages.bytes()[0] == std::byte{0});
    REQUIRE(pages.want(0, 4));
    CHECK(std::memcmp(pages.bytes().data(), "\177ELF", 4) == 0);
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    CHECK(std::ranges::all_of(pages.bytes().subspan(4096, 4096), is_zero));
    REQUIRE(pages.want(4095, 2));
    CHECK_FALSE(std::ranges::all_of(pages.bytes().subspan(4096, 4096), is_zero));
    CHECK_FALSE(pages.want(image->file().size, 2));
    CHECK_FALSE(pages.want(~std::uint64_t{0}, 2));
}

TEST_CASE("without a search table .eh_frame is read from its beginning, terminators passed over") {
    HandMadeSection first;
    first.make();
    CfiBytes bytes = first.bytes;
    bytes.add({0, 0, 0, 0}).add({8, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4});  // a terminator; of no common entry
    const std::size_t second = bytes.bytes.size();
    CfiBytes more;
    more.number(static_cast<std::uint32_t>(second + 4))
        .number(std::uint64_t{0x2000})
        .number(std::uint64_t{0x10})
        .add({0});
    bytes.add(more.entry());
    const auto image = ElfImage::from_bytes(file_of(".eh_frame", bytes.span()));
    REQUIRE(image);
    EhFrame frames(*image);
    CHECK(frames.size() == 2);
    CHECK(frames.entry_of(code_start));
    CHECK(frames.entry_of(0x200f));
    CHECK_FALSE(frames.entry_of(0x2010));
    CHECK(frames.start_of(0x1fff) == code_start);
    CHECK(frames.next_start(code_start) == 0x2000);
    CHECK(CfiList({bytes.span()}, true).size() == 1);
}

TEST_CASE(".debug_frame is read as it is; compressed, it is as if it were not there") {
    HandMadeSection section = debug_section();
    section.make();
    const std::string content(reinterpret_cast<const char*>(section.bytes.bytes.data()), section.bytes.bytes.size());
    for (const std::uint64_t flags : {0, SHF_COMPRESSED}) {
        const auto image = ElfImage::from_bytes(file_of(".debug_frame", std::as_bytes(std::span(content)), flags));
        REQUIRE(image);
        CHECK(finds_description(DebugFrame(*image, {})) == (flags == 0));
    }
}

TEST_CASE("tables whose bytes are wrong give wrong rules or none, and nothing else") {
    const auto libc = ElfImage::from_memory(libc_region());
    REQUIRE(libc);
    REQUIRE(EhFrame(*libc).size() > 1000);
    std::vector<std::byte> bytes(std::size_t{4} << 20);
    bytes.resize(libc->read(0, bytes));
    std::minstd_rand random(1);
    for (int round = 0; round < 20; ++round) {
        void* const memory = ::mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory != MAP_FAILED);
        MemoryMap map(memory, bytes.size());
        std::memcpy(map.data(), bytes.data(), bytes.size());
        // The index and the tables are the last of what from_memory() copies of libc's read-only segment.
        const std::size_t first = bytes.size() / 2;
        for (int changes = 0; changes < 2000; ++changes)
            map.bytes()[first + random() % (bytes.size() - first)] ^= std::byte(1 << random() % 8);
        auto image = ElfImage::from_bytes(std::move(map));
        REQUIRE(image);
        CfiTables tables(std::move(*image));
        for (std::uint64_t address = 0; address < bytes.size(); address += 1009)
            static_cast<void>(tables.rule(address, 0));
    }
}

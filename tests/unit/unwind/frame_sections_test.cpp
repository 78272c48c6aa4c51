// Unwind tables of which only some pages are read must say what the whole tables say.
#include "unwind/frame_sections.hpp"

#include <doctest/doctest.h>
#include <elfutils/libdw.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

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

/// What a table says of an address: the extent of its function and the rule for the canonical frame address.
std::string told(Dwarf_CFI* tables, std::uint64_t address) {
    Dwarf_Frame* frame = nullptr;
    if (tables == nullptr || ::dwarf_cfi_addrframe(tables, address, &frame) != 0) return "nothing";
    Dwarf_Addr start = 0, end = 0;
    bool is_signal_frame = false;
    const int column = ::dwarf_frame_info(frame, &start, &end, &is_signal_frame);
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    std::string text = std::to_string(start) + " " + std::to_string(end) + " " + std::to_string(column);
    if (::dwarf_frame_cfa(frame, &operations, &count) == 0)
        for (std::size_t i = 0; i < count; ++i)
            text += " " + std::to_string(operations[i].atom) + " " + std::to_string(operations[i].number);
    std::free(frame);
    return text;
}

}  // namespace

TEST_CASE("of a library's tables a page says what the whole says, whichever is asked for first") {
    const auto image = ElfImage::from_file(libc_region());
    REQUIRE(image);
    auto pages = FramePages::of(*image);
    REQUIRE(pages);
    const auto functions = pages->index().size();
    CHECK(functions > 1000);
    Dwarf_CFI* const whole = ::dwarf_getcfi_elf(image->elf());
    Dwarf_CFI* const some = ::dwarf_getcfi_elf(pages->elf());
    REQUIRE(whole != nullptr);
    REQUIRE(some != nullptr);
    const CodeRegion region = libc_region();
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t at = 0; at < region.end - region.start; at += 61) addresses.push_back(region.file_offset + at);
    std::shuffle(addresses.begin(), addresses.end(), std::minstd_rand(1));
    std::size_t rules = 0;
    for (const std::uint64_t address : addresses) {
        CAPTURE(address);
        pages->want(address);
        const std::string expected = told(whole, address);
        REQUIRE(told(some, address) == expected);
        rules += expected != "nothing";
    }
    CHECK(rules > addresses.size() / 2);
    ::dwarf_cfi_end(whole);
    ::dwarf_cfi_end(some);
}

TEST_CASE("nothing is known of a page before it is wanted") {
    const auto image = ElfImage::from_file(libc_region());
    REQUIRE(image);
    auto pages = FramePages::of(*image);
    REQUIRE(pages);
    Dwarf_CFI* const some = ::dwarf_getcfi_elf(pages->elf());
    const CodeRegion region = libc_region();
    const std::uint64_t first = region.file_offset + (region.end - region.start) / 4,
                        second = region.file_offset + (region.end - region.start) / 2;
    pages->want(first);
    CHECK(told(some, first) != "nothing");
    CHECK(told(some, second) == "nothing");
    ::dwarf_cfi_end(some);
}

TEST_CASE("tables whose bytes are wrong give wrong rules or none, and nothing else") {
    const auto libc = ElfImage::from_memory(libc_region());
    REQUIRE(libc);
    const auto whole = FramePages::of(*libc);
    REQUIRE(whole);
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

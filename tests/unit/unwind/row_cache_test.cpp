#include "unwind/row_cache.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

namespace {

Row row_at(std::uint64_t address) {
    Row row;
    row.address = address;
    row.kind = RowKind::rule;
    row.cfa_offset = static_cast<std::int32_t>(address & 0xffff);
    row.region = static_cast<std::uint32_t>(address >> 20);
    return row;
}

}  // namespace

TEST_CASE("what was put in is found, and nothing else") {
    RowCache cache;
    CHECK(cache.find(0) == nullptr);
    for (std::uint64_t i = 1; i <= 20000; ++i) CHECK(cache.insert(row_at(i * 16))->address == i * 16);
    for (std::uint64_t i = 1; i <= 20000; ++i) {
        REQUIRE(cache.find(i * 16) != nullptr);
        CHECK(cache.find(i * 16)->cfa_offset == static_cast<std::int32_t>((i * 16) & 0xffff));
        CHECK(cache.find(i * 16 + 1) == nullptr);
    }
    CHECK(cache.size() == 20000);
}

TEST_CASE("its memory is bounded") {
    RowCache cache;
    for (std::uint64_t i = 1; i <= 500000; ++i) cache.insert(row_at(i * 4096));
    CHECK(cache.memory() <= RowCache::last_size * sizeof(Row));
    CHECK(cache.find(500000 * 4096) != nullptr);
}

TEST_CASE("rows of a region can be forgotten") {
    RowCache cache;
    for (std::uint64_t i = 1; i <= 100; ++i) cache.insert(row_at(i << 20));
    cache.keep_if([](const Row& row) { return row.region % 2 == 0; });
    CHECK(cache.size() == 50);
    CHECK(cache.find(2u << 20) != nullptr);
    CHECK(cache.find(3u << 20) == nullptr);
}

#include "profile/stack_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>

using namespace flameprobe;

TEST_CASE("ids count up in the order of arrival, and equal things get equal ids") {
    StackTable table;
    CHECK(table.location({0, 100}).id == 0);
    CHECK(table.location({1, 100}).is_new);
    CHECK(table.location({0, 100}).id == 0);
    CHECK_FALSE(table.location({0, 100}).is_new);
    CHECK(table.stack(0, 0).id == 1);
    CHECK(table.stack(1, 0).id == 2);
    CHECK(table.stack(0, 0).id == 1);
    CHECK_FALSE(table.stack(1, 0).is_new);
    CHECK(table.locations() == 2);
    CHECK(table.stacks() == 2);
}

TEST_CASE("a table agrees with std::map over random entries, and its memory is bounded") {
    StackTable table;
    std::map<std::pair<StackId, LocationId>, StackId> stacks;
    std::map<std::pair<MappingId, std::uint64_t>, LocationId> locations;
    std::mt19937 random(1);
    for (int i = 0; i < 50'000; ++i) {
        const Location location{static_cast<MappingId>(random() % 3), random() % 12'000 * 16};
        const auto known = locations.try_emplace({location.mapping, location.address}, locations.size());
        const auto got = table.location(location);
        REQUIRE(got.id == known.first->second);
        REQUIRE(got.is_new == known.second);
        const StackId parent = static_cast<StackId>(random() % (stacks.size() + 1));
        const auto node = stacks.try_emplace({parent, got.id % 8}, stacks.size() + 1);
        const auto interned = table.stack(parent, got.id % 8);
        REQUIRE(interned.id == node.first->second);
        REQUIRE(interned.is_new == node.second);
    }
    // Vectors may have reserved twice what they hold.
    CHECK(table.memory() <= table.stacks() * (2 * 8 + 16) + table.locations() * (2 * 12 + 16) + 2048);
}

#include "base/id_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace flameprobe;

TEST_CASE("an id is found again by its value, also where hashes collide") {
    for (const std::uint64_t hashes : {std::uint64_t{1}, std::uint64_t{7}, ~std::uint64_t{0}}) {
        IdTable table;
        std::vector<std::uint32_t> known;
        const auto find = [&](std::uint32_t value) {
            const auto next = static_cast<std::uint32_t>(known.size());
            const std::uint32_t id = table.find_or_add(hash_pair(value, 0) % hashes, next,
                                                       [&](std::uint32_t one) { return known[one] == value; });
            if (id == next) known.push_back(value);
            return id;
        };
        constexpr std::uint32_t values = 300;
        for (std::uint32_t value = 0; value < values; ++value) REQUIRE(find(1000 + value) == value);
        for (std::uint32_t value = 0; value < values; ++value) REQUIRE(find(1000 + value) == value);
    }
}

TEST_CASE("a trie's nodes have one id for each parent and key") {
    TrieIndex index;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes(1);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> truth;
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        const auto next = static_cast<std::uint32_t>(nodes.size());
        const std::pair key(static_cast<std::uint32_t>(random() % nodes.size()),
                            static_cast<std::uint32_t>(random() % 5));
        const std::uint32_t id =
            index.find_or_claim(key.first, key.second, next, [&](std::uint32_t one) { return nodes[one]; });
        REQUIRE(id == truth.try_emplace(key, next).first->second);
        if (id == next) nodes.push_back(key);
    }
    CHECK(nodes.size() > 1000);
}

#include <doctest/doctest.h>

#include "unwind/rule_source.hpp"

using namespace flameprobe;

namespace {

UnwindRule rule_at(std::uint64_t address) {
    UnwindRule rule;
    rule.address = address;
    rule.kind = RuleKind::step;
    rule.cfa_offset = static_cast<std::int32_t>(address & 0xffff);
    rule.region = static_cast<std::uint32_t>(address >> 20);
    return rule;
}

}  // namespace

TEST_CASE("rules that were put in are found, and no others") {
    RuleCache cache;
    CHECK(cache.find(0) == nullptr);
    for (std::uint64_t i = 1; i <= 20000; ++i) CHECK(cache.insert(rule_at(i * 16))->address == i * 16);
    for (std::uint64_t i = 1; i <= 20000; ++i) {
        REQUIRE(cache.find(i * 16) != nullptr);
        CHECK(cache.find(i * 16)->cfa_offset == static_cast<std::int32_t>((i * 16) & 0xffff));
        CHECK(cache.find(i * 16 + 1) == nullptr);
    }
    CHECK(cache.size() == 20000);
}

TEST_CASE("the memory of the cache is bounded") {
    RuleCache cache;
    for (std::uint64_t i = 1; i <= 500000; ++i) cache.insert(rule_at(i * 4096));
    CHECK(cache.memory() <= RuleCache::last_size * sizeof(UnwindRule));
    CHECK(cache.find(500000 * 4096) != nullptr);
}

TEST_CASE("rules of a region can be forgotten") {
    RuleCache cache;
    for (std::uint64_t i = 1; i <= 100; ++i) cache.insert(rule_at(i << 20));
    cache.keep_if([](const UnwindRule& rule) { return rule.region % 2 == 0; });
    CHECK(cache.size() == 50);
    CHECK(cache.find(2u << 20) != nullptr);
    CHECK(cache.find(3u << 20) == nullptr);
}

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "flameprobe/scope.hpp"
#include "scope/scanner.hpp"

using namespace flameprobe;

namespace {

using Words = std::vector<std::uint64_t>;

std::vector<ScopeRecord> scan(std::uint64_t address, std::span<const std::byte> bytes) {
    std::vector<ScopeRecord> out;
    scan_for_seals(address, bytes, out);
    return out;
}

}  // namespace

TEST_CASE("an open guard is found at its own address, a closed one and a copy of one are not") {
    alignas(64) std::array<std::byte, 512> memory{};
    auto* const record = reinterpret_cast<flameprobe_scope*>(memory.data() + 104);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    flameprobe_scope_enter(record, "here");
    const auto open = scan(address, memory);
    REQUIRE(open.size() == 1);
    CHECK(open[0].address == address + 104);
    CHECK(open[0].label == reinterpret_cast<std::uintptr_t>(record->label));
    CHECK(open[0].outer == record->outer);
    CHECK(open[0].chain == flameprobe_chain_v1);
    // Copied elsewhere, it yields a pc that is far from the function.
    for (const std::uint64_t shift : {8, 64, 4096, 1 << 20}) {
        for (const auto& moved : scan(address + shift, memory)) CHECK(((moved.pc ^ open[0].pc) >> 32) != 0);
    }
    flameprobe_scope_leave(record);
    CHECK(scan(address, memory).empty());
}

TEST_CASE("guards are found at every place of a stack of any size, from any start") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 400; ++round) {
        alignas(64) std::array<std::byte, 700> memory;
        for (auto& byte : memory) byte = static_cast<std::byte>(random());
        const std::size_t skip = random() % 16, size = random() % (memory.size() - skip), place = random() % 80 * 8;
        auto* const record = reinterpret_cast<flameprobe_scope*>(memory.data() + place);
        flameprobe_scope_enter(record, "here");
        const auto bytes = std::span<const std::byte>(memory).subspan(skip, size);
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        const auto found = scan(address, bytes);
        const bool inside = place >= skip && place + sizeof *record <= skip + size;
        const auto is_it = [&](const ScopeRecord& r) { return r.address == reinterpret_cast<std::uintptr_t>(record); };
        CHECK((std::find_if(found.begin(), found.end(), is_it) != found.end()) == inside);
        flameprobe_scope_leave(record);
    }
}

TEST_CASE("words that look like a stack are not taken for scopes") {
    std::mt19937_64 random(11);
    std::vector<ScopeRecord> found;
    Words words(2048);
    constexpr int rounds = 500;
    for (int round = 0; round < rounds; ++round) {
        // Zeroes, small numbers, stack and code addresses.
        for (auto& word : words) {
            switch (random() % 4) {
                case 0:
                    word = 0;
                    break;
                case 1:
                    word = random() % 1000;
                    break;
                case 2:
                    word = 0x7ffd00000000 + random() % 0x100000 * 8;
                    break;
                default:
                    word = 0x555500000000 + random() % 0x100000;
                    break;
            }
        }
        scan_for_seals(0x7ffd12340000, std::as_bytes(std::span(words)), found);
    }
    // With a probability of 2^-17 for each word 8 are expected; their pcs lie in no frame's function.
    CHECK(found.size() <= 30);
}

// Registers and stacks of random bytes: no crash, no endless walk, and every frame is code of the map.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "live_map.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

class RandomInput {
public:
    explicit RandomInput(const CodeMap& map) : map_(map) {}

    std::uint64_t word() {
        switch (random_() % 6) {
            case 0:
                return random_();
            case 1:
                return random_() % 4096;
            case 2:
                return stack_at + random_() % 8192;
            case 3:
                return stack_at + (random_() % 1024) * 8;
            default:
                return code();
        }
    }
    std::uint64_t code() {
        const CodeRegion& region = *map_.regions()[random_() % map_.regions().size()];
        return region.start + random_() % (region.end - region.start);
    }
    Registers registers() {
        Registers out;
        for (auto& value : out.value) value = word();
        out.value[Registers::pc_column] = random_() % 8 == 0 ? word() : code();
        if (random_() % 4 != 0) out.value[Registers::stack_pointer] = stack_at;
        return out;
    }
    std::vector<std::uint64_t> words() {
        std::vector<std::uint64_t> out(random_() % 600);
        for (auto& value : out) value = word();
        return out;
    }
    static constexpr std::uint64_t stack_at = 0x7ffff0000000;

private:
    const CodeMap& map_;
    std::mt19937_64 random_{20240229};
};

class RandomMemory final : public StackBeyond {
public:
    explicit RandomMemory(RandomInput& input) : input_(input) {}
    std::size_t read(std::uint64_t address, std::span<std::byte> out) override {
        if (address % 3 == 0) return 0;
        for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
            const std::uint64_t word = input_.word();
            std::memcpy(out.data() + i, &word, 8);
        }
        return out.size() / (1 + address % 5);
    }

private:
    RandomInput& input_;
};

void walk_random_input(Unwinder& unwinder, const CodeMap& map, int rounds) {
    RandomInput input(map);
    RandomMemory memory(input);
    Walk walk;
    for (int i = 0; i < rounds; ++i) {
        const auto words = input.words();
        const Registers registers = input.registers();
        const StackCopy copy{RandomInput::stack_at, std::as_bytes(std::span(words))};
        unwinder.walk(registers, copy, i % 3 == 0 ? &memory : nullptr, walk);
        REQUIRE(!walk.frames.empty());
        REQUIRE(walk.frames.size() <= Unwinder::max_frames);
        REQUIRE(walk.frames_in_copy <= walk.frames.size());
        for (std::size_t f = 1; f < walk.frames.size(); ++f) {
            const CodeRegion* const region = map.find(walk.frames[f].address);
            REQUIRE(region != nullptr);
            REQUIRE(region->id == walk.frames[f].region);
        }
    }
}

}  // namespace

TEST_CASE("random registers and stacks are walked by CFI without a crash") {
    CodeMap map;
    add_own_mappings(map);
    walk_random_input(*make_dwarf_unwinder(map), map, 2000);
}

TEST_CASE("random registers and stacks are walked by frame pointer without a crash") {
    CodeMap map;
    add_own_mappings(map);
    walk_random_input(*make_fp_unwinder(map), map, 2000);
}

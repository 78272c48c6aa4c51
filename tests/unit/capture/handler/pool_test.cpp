#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "capture/cell_reader.hpp"
#include "capture/handler/state.hpp"

using namespace flameprobe;
using namespace flameprobe::handler;

namespace {

struct Memory {
    static constexpr std::uint32_t cells = 8;
    static constexpr std::uint32_t cell_bytes = (sizeof(CellHead) + 64 + 63) & ~63u;
    std::atomic<std::uint32_t> states[cells] = {};
    std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(std::size_t{cells} * cell_bytes);
    SamplePool pool{states, bytes.get(), cells, cell_bytes};
};

}  // namespace

TEST_CASE("a full pool refuses, and a released cell is used again") {
    Memory memory;
    std::vector<CellHead*> claimed;
    while (CellHead* cell = memory.pool.claim()) claimed.push_back(cell);
    CHECK(claimed.size() == Memory::cells);
    CHECK_FALSE(memory.pool.full(3));  // claimed, but being written
    memory.pool.publish(claimed[3]);
    REQUIRE(memory.pool.full(3));
    CHECK(memory.pool.head(3) == claimed[3]);
    memory.pool.release(3);
    CHECK(memory.pool.claim() == claimed[3]);
    CHECK(memory.pool.claim() == nullptr);
}

TEST_CASE("samples are read in the order of their times, and only published ones") {
    Memory memory;
    State state;
    state.pool = memory.pool;
    for (const std::uint64_t time : {30, 10, 20, 5}) {
        CellHead* cell = memory.pool.claim();
        cell->time_ns = time;
        cell->stack_bytes = 0;
        if (time != 5) memory.pool.publish(cell);
    }
    CellReader reader(state);
    REQUIRE(reader.gather() == 3);
    CHECK(reader.sample(0).time_ns == 10);
    CHECK(reader.sample(1).time_ns == 20);
    CHECK(reader.sample(2).time_ns == 30);
    for (std::size_t i = 0; i < 3; ++i) reader.give_back(i);
    CHECK(reader.gather() == 0);
}

TEST_CASE("every sample that several threads publish arrives once and intact") {
    Memory memory;
    State state;
    state.pool = memory.pool;
    constexpr std::uint64_t each = 20'000, writers = 3;
    std::atomic<std::uint64_t> refused{0}, finished{0};
    std::vector<std::thread> threads;
    for (std::uint64_t writer = 0; writer < writers; ++writer) {
        threads.emplace_back([&, writer] {
            for (std::uint64_t i = 0; i < each; ++i) {
                CellHead* cell = memory.pool.claim();
                if (cell == nullptr) {
                    ++refused;
                    continue;
                }
                cell->time_ns = i;
                cell->weight = i * writers + writer;
                cell->stack_bytes = 0;
                for (auto& value : cell->registers.value) value = cell->weight;
                memory.pool.publish(cell);
            }
            ++finished;
        });
    }
    CellReader reader(state);
    std::vector<bool> seen(each * writers);
    std::uint64_t arrived = 0, torn = 0, twice = 0;
    for (bool last = false; !last;) {
        last = finished == writers;
        const std::size_t count = reader.gather();
        for (std::size_t i = 0; i < count; ++i) {
            const CellHead& cell = reader.cell(i);
            for (const auto value : cell.registers.value) torn += value == cell.weight ? 0 : 1;
            twice += seen.at(cell.weight) ? 1 : 0;
            seen.at(cell.weight) = true;
            ++arrived;
            reader.give_back(i);
        }
    }
    for (auto& thread : threads) thread.join();
    CHECK(torn == 0);
    CHECK(twice == 0);
    CHECK(arrived + refused == each * writers);
    CHECK(arrived > 0);
}

TEST_CASE("a token packed into 64 bits is unpacked as it was") {
    const Token token{0xdeadbeef, 0x1234, 0xabcd};
    const Token back = Token::unpack(token.pack());
    CHECK(back.secret == token.secret);
    CHECK(back.generation == token.generation);
    CHECK(back.slot == token.slot);
}

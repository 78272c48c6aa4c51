#include "capture/alloc/live_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace flameprobe::alloc {
namespace {

struct FilledTable {
    explicit FilledTable(std::uint32_t count)
        : slots(new LiveTable::Slot[count]()),
          nodes(new LiveTable::Node[count]()),
          live(slots.get(), nodes.get(), count) {}
    std::vector<std::uint64_t> freed() {
        std::vector<std::uint64_t> ids;
        live.take_freed([&](const LiveTable::Freed& freed) { ids.push_back(freed.id); });
        std::sort(ids.begin(), ids.end());
        return ids;
    }
    std::unique_ptr<LiveTable::Slot[]> slots;
    std::unique_ptr<LiveTable::Node[]> nodes;
    LiveTable live;
};

}  // namespace

TEST_CASE("an address is found once, and the collector learns that it was freed") {
    FilledTable table(1024);
    REQUIRE(table.live.insert(0x1000, 7));
    CHECK(table.live.take(0x2000) == 0);
    const LiveTable::NodeNumber node = table.live.take(0x1000);
    REQUIRE(node != 0);
    CHECK(table.live.take(0x1000) == 0);
    CHECK(table.freed().empty());
    table.live.freed(node, 5);
    CHECK(table.freed() == std::vector<std::uint64_t>{7});
    CHECK(table.freed().empty());
}

TEST_CASE("one address may be given out and freed many times before the collector comes") {
    FilledTable table(1024);
    std::vector<std::uint64_t> all;
    for (int round = 0; round < 3; ++round) {
        all.clear();
        for (std::uint64_t id = 1; id <= 1000; ++id) {
            REQUIRE(table.live.insert(0x1000, id));
            table.live.freed(table.live.take(0x1000), id);
            all.push_back(id);
        }
        CHECK(table.freed() == all);
    }
}

TEST_CASE("a realloc that fails leaves its address alive") {
    FilledTable table(1024);
    REQUIRE(table.live.insert(0x1000, 7));
    REQUIRE(table.live.put(0x1000, table.live.take(0x1000)));
    table.live.freed(table.live.take(0x1000), 0);
    CHECK(table.freed() == std::vector<std::uint64_t>{7});
}

TEST_CASE("of a large table a heap of a gigabyte uses 64 KiB") {
    constexpr std::uint32_t size = 1 << 17, alive = 2048;  // one for 512 KiB
    FilledTable table(size);
    const auto address = [](std::uint64_t number) { return 0x7f0000000000 + number * 4112; };
    for (std::uint64_t number = 0; number < 10 * alive; ++number) {
        REQUIRE(table.live.insert(address(number), number));
        if (number >= alive) table.live.freed(table.live.take(address(number - alive)), 0);
    }
    CHECK(table.freed().size() == 9 * alive);
    const auto used = [&](std::uint32_t at) { return table.slots[at].node != 0; };
    std::uint32_t last = 0;
    for (std::uint32_t at = 0; at < size; ++at)
        if (used(at)) last = at;
    CHECK(last < 4096);
}

TEST_CASE("a table takes two thirds of its size, and says when an address has no room") {
    constexpr std::uint32_t size = 1 << 14;
    FilledTable table(size);
    std::uint32_t inside = 0;
    while (inside < size && table.live.insert(0x7f0000000000 + std::uint64_t{inside} * 48, inside)) ++inside;
    CHECK(inside > size * 2 / 3);
    CHECK(inside < size);
    for (std::uint32_t i = 0; i < inside; ++i) {
        const LiveTable::NodeNumber node = table.live.take(0x7f0000000000 + std::uint64_t{i} * 48);
        REQUIRE(node != 0);
        table.live.freed(node, 0);
    }
    CHECK(table.freed().size() == inside);
    CHECK(table.live.insert(0x1000, 1));
}

TEST_CASE("threads that allocate and free at once lose no address") {
    FilledTable table(1 << 12);
    AddressFilter filter;
    std::atomic<std::uint64_t> last_id{0}, missed{0};
    std::atomic<bool> done{false};
    const auto work = [&](std::uint64_t which) {
        for (int round = 0; round < 20000; ++round) {
            const std::uint64_t address = which << 40 | static_cast<std::uint64_t>(round % 97 + 1) << 4;
            auto* const pointer = reinterpret_cast<void*>(address);
            filter.add(pointer);
            if (!table.live.insert(address, ++last_id)) {
                filter.remove(pointer);
                continue;
            }
            const LiveTable::NodeNumber node = filter.may_have(pointer) ? table.live.take(address) : 0;
            if (node == 0) {
                ++missed;
                continue;
            }
            filter.remove(pointer);
            table.live.freed(node, 0);
        }
    };
    std::set<std::uint64_t> seen;
    std::thread collector([&] {
        while (!done)
            for (const std::uint64_t id : table.freed()) CHECK(seen.insert(id).second);
    });
    std::vector<std::thread> threads;
    for (std::uint64_t i = 1; i <= 4; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    done = true;
    collector.join();
    for (const std::uint64_t id : table.freed()) CHECK(seen.insert(id).second);
    CHECK(missed == 0);
    CHECK(!seen.empty());
}

TEST_CASE("the filter knows every address in it, and most that are not") {
    AddressFilter filter;
    const auto address = [](std::uint64_t i) { return reinterpret_cast<void*>(0x550000000000 + i * 32); };
    for (std::uint64_t i = 0; i < 1000; ++i) filter.add(address(i * 1000));
    std::size_t others = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) CHECK(filter.may_have(address(i * 1000)));
    for (std::uint64_t i = 0; i < 100000; ++i) others += filter.may_have(address(i)) && i % 1000 != 0;
    CHECK(others < 10000);
    for (std::uint64_t i = 0; i < 1000; ++i) filter.remove(address(i * 1000));
    for (std::uint64_t i = 0; i < 1000; ++i) CHECK(!filter.may_have(address(i * 1000)));
    for (int i = 0; i < 300; ++i) filter.add(address(1));
    for (int i = 0; i < 300; ++i) filter.remove(address(1));
    CHECK(filter.may_have(address(1)));  // full once: nobody knows how many there are
}

}  // namespace flameprobe::alloc

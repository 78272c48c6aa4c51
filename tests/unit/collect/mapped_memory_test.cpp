#include <doctest/doctest.h>

#include <vector>

#include "collect/allocations.hpp"

using namespace flameprobe;
using Parts = std::vector<MappedMemory::Part>;

TEST_CASE("parts of a mapping go one after the other, in whatever order") {
    MappedMemory memory;
    CHECK(memory.mapped(0x10000, 0x10000, 7, 1).empty());
    CHECK(memory.unmapped(0x8000, 0x8000, 2).empty());                  // before it
    CHECK(memory.unmapped(0x20000, 0x8000, 2).empty());                 // behind it
    CHECK(memory.unmapped(0x8000, 0xa000, 2) == Parts{{7, 0x2000}});    // its head
    CHECK(memory.unmapped(0x1c000, 0x10000, 2) == Parts{{7, 0x4000}});  // its tail
    CHECK(memory.unmapped(0x14000, 0x1000, 2) == Parts{{7, 0x1000}});   // out of its middle
    CHECK(memory.unmapped(0x14000, 0x1000, 2).empty());
    CHECK(memory.unmapped(0, 0x100000, 2) == Parts{{7, 0x2000}, {7, 0x7000}});
    CHECK(memory.unmapped(0, 0x100000, 2).empty());
}

TEST_CASE("what is mapped over others takes their place") {
    MappedMemory memory;
    memory.mapped(0x10000, 0x4000, 1, 1);
    memory.mapped(0x14000, 0x4000, 2, 2);
    CHECK(memory.mapped(0x12000, 0x4000, 3, 3) == Parts{{1, 0x2000}, {2, 0x2000}});
    CHECK(memory.unmapped(0, 0x100000, 4) == Parts{{1, 0x2000}, {3, 0x4000}, {2, 0x2000}});
}

TEST_CASE("what is moved is found where it is now") {
    MappedMemory memory;
    memory.mapped(0x10000, 0x4000, 1, 1);
    memory.mapped(0x14000, 0x4000, 2, 1);
    memory.mapped(0x52000, 0x8000, 3, 1);
    CHECK(memory.moved(0x12000, 0x4000, 0x50000, 2) == Parts{{3, 0x2000}});
    CHECK(memory.unmapped(0x10000, 0x8000, 3) == Parts{{1, 0x2000}, {2, 0x2000}});
    CHECK(memory.unmapped(0x50000, 0x10000, 3) == Parts{{1, 0x2000}, {2, 0x2000}, {3, 0x6000}});
    memory.mapped(0x10000, 0x4000, 4, 4);
    CHECK(memory.moved(0x10000, 0x4000, 0x11000, 5).empty());  // over itself
    CHECK(memory.unmapped(0x10000, 0x1000, 6).empty());
    CHECK(memory.unmapped(0x11000, 0x4000, 6) == Parts{{4, 0x4000}});
}

TEST_CASE("what is told late of a place does not end what came there since") {
    MappedMemory memory;
    memory.mapped(0x10000, 0x4000, 1, 1);
    CHECK(memory.mapped(0x10000, 0x4000, 2, 5) == Parts{{1, 0x4000}});
    memory.mapped(0xc000, 0x4000, 3, 2);
    CHECK(memory.unmapped(0xe000, 0x10000, 4) == Parts{{3, 0x2000}});
    CHECK(memory.unmapped(0x10000, 0x4000, 5) == Parts{{2, 0x4000}});
}

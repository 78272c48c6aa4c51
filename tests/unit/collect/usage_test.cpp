#include "collect/usage.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/model.hpp"

using namespace flameprobe;

TEST_CASE("page faults and peak memory are those since sampling began") {
    constexpr std::size_t size = 32 << 20;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    UsageAccount account;
    account.begin(0);
    // Pages of the usual size, each a fault.
    auto* const memory = static_cast<char*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    ::madvise(memory, size, MADV_NOHUGEPAGE);
    for (std::size_t at = 0; at < size; at += page) memory[at] = 1;
    account.read(1, false);  // too soon
    Counters counters;
    account.add_to(counters);
    CHECK(counters[std::string(counter::minor_faults)] == 0);
    account.read(1, true);
    account.add_to(counters);
    CHECK(counters[std::string(counter::minor_faults)] >= size / page);
    CHECK(counters[std::string(counter::minor_faults)] < 4 * size / page);
    CHECK(counters[std::string(counter::peak_memory)] >= size);
    ::munmap(memory, size);
}

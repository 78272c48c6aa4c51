#include "capture/map_watch.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "collected.hpp"

using namespace flameprobe;
using namespace flameprobe::test;

namespace {

constexpr std::uint64_t ms = 1'000'000;

/// An hour ahead of the clock: a reading then seems to take no time, and slow ones are not made less often.
std::uint64_t some_time() { return monotonic_ns() + 3'600'000 * ms; }

class CodePage {
public:
    CodePage() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        page_ = ::mmap(nullptr, size_, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(page_ != MAP_FAILED);
    }
    ~CodePage() { ::munmap(page_, size_); }
    CodePage(const CodePage&) = delete;
    CodePage& operator=(const CodePage&) = delete;
    bool told(const Seen& seen) const {
        const auto at = reinterpret_cast<std::uint64_t>(page_);
        return std::any_of(seen.mappings.begin(), seen.mappings.end(),
                           [at](const auto& range) { return range.first <= at && at < range.second; });
    }

private:
    std::size_t size_;
    void* page_;
};

}  // namespace

TEST_CASE("the mappings are read once a second, and soon after a stack that led to unknown code") {
    MapWatch maps;
    Seen seen;
    const std::uint64_t begin = some_time();
    maps.refresh(seen, begin);
    const CodePage page;
    maps.refresh(seen, begin + 500 * ms);
    CHECK_FALSE(page.told(seen));
    maps.met_unknown_code();
    maps.refresh(seen, begin + 500 * ms);
    CHECK(page.told(seen));
}

TEST_CASE("readings for stacks into unknown code become rarer until one finds a new mapping") {
    MapWatch maps;
    Seen seen;
    std::uint64_t now = some_time();
    const auto next_reading = [&] {
        const std::uint64_t before = maps.read_ns();
        while (maps.read_ns() == before) {
            maps.met_unknown_code();
            maps.refresh(seen, now += ms);
        }
        return (maps.read_ns() - before) / ms;
    };
    maps.refresh(seen, now);
    CHECK(next_reading() == 10);
    CHECK(next_reading() == 20);
    CHECK(next_reading() == 40);
    const CodePage page;
    CHECK(next_reading() == 80);
    CHECK(page.told(seen));
    CHECK(next_reading() == 10);
}

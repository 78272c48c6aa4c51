#include "capture/perf_event.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>

using namespace flameprobe;

TEST_CASE("a clock's period is a little shorter than asked for, and differs each time") {
    for (const std::uint64_t frequency : {1u, 99u, 999u, 1000u, 4000u, 20000u}) {
        const std::uint64_t even = 1'000'000'000 / frequency;
        std::set<std::uint64_t> periods;
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            const std::uint64_t period = uneven_period(even, seed * 1'234'567);
            CHECK(period >= even - even * 25 / 1000);
            CHECK(period <= even - even * 15 / 1000);
            periods.insert(period);
        }
        CHECK(periods.size() > 50);
    }
}

TEST_CASE("every event counts, or is refused with what would work") {
    CaptureOptions options;
    if (!try_event(options)) {
        MESSAGE("skipped: perf events are refused here");
        return;
    }
    std::istringstream names(event_names());
    std::size_t tried = 0;
    for (std::string name; names >> name; ++tried) {
        if (name.ends_with(',')) name.pop_back();
        options.event = name;
        for (const bool kernel : {true, false}) {
            options.kernel = kernel;
            const auto counts = try_event(options);
            if (counts) continue;
            INFO(name, ": ", counts.error().message);
            const std::string& why = counts.error().message;
            const bool clock_is_named = why.find("cpu-clock") != std::string::npos;
            const bool setting_is_named = why.find("kernel.perf_event_paranoid") != std::string::npos ||
                                          why.find("FLAMEPROBE_KERNEL=off") != std::string::npos;
            CHECK((clock_is_named || setting_is_named));
            CHECK(name != "cpu-clock");
            CHECK(name != "task-clock");
            CHECK(name != "page-faults");
            CHECK(name != "minor-faults");
        }
    }
    CHECK(tried == 12);
}

TEST_CASE("an event that opens and cannot count is refused, with what would help") {
    CaptureOptions options;
    if (const auto opened = try_event(options); !opened) {
        MESSAGE("perf events are refused here: " << opened.error().message);
        return;
    }
    options.event = "page-faults";
    CHECK(try_event(options));
    options.kernel = false;  // as the kernel's default has it for an ordinary user
    CHECK(try_event(options));
    for (const char* in_kernel : {"context-switches", "cpu-migrations"}) {
        options.event = in_kernel;
        const auto refused = try_event(options);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message ==
              std::string(in_kernel) + " happen in the kernel, which FLAMEPROBE_KERNEL=off leaves out");
    }
    options.event = "lightning";
    CHECK_FALSE(try_event(options));
}

TEST_CASE("an event beside the clock has a prime period, and no records but samples") {
    auto own = make_attributes({});
    REQUIRE(own);
    own->sample_type |= PERF_SAMPLE_READ;
    const auto faults = make_more_attributes(*own, "page-faults", 99);
    REQUIRE(faults);
    CHECK(faults->config == PERF_COUNT_SW_PAGE_FAULTS);
    CHECK(faults->freq == 0);
    CHECK(faults->sample_period == 1013);
    CHECK((faults->sample_type & PERF_SAMPLE_READ) == 0);  // with it the kernel makes a sample of each event
    CHECK(faults->sample_stack_user <= own->sample_stack_user);
    CHECK((faults->mmap2 | faults->comm | faults->task) == 0);
    CHECK(make_more_attributes(*own, "page-faults", 20'000)->sample_period == 7);
    CHECK(make_more_attributes(*own, "context-switches", 99)->sample_period == 103);
    CHECK(make_more_attributes(*own, "context-switches", 20'000)->sample_period == 1);
    const auto cycles = make_more_attributes(*own, "cycles", 99);
    REQUIRE(cycles);
    CHECK(cycles->freq == 1);
    CHECK(cycles->sample_freq == 99);
    CHECK_FALSE(make_more_attributes(*own, "lightning", 99));
}

#include <doctest/doctest.h>

#include <clocale>
#include <limits>

#include "render/text.hpp"

using namespace flameprobe;

TEST_CASE("counts have groups of three") {
    CHECK(count_text(0) == "0");
    CHECK(count_text(999) == "999");
    CHECK(count_text(1000) == "1,000");
    CHECK(count_text(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("no share is rounded to 0 % or 100 %") {
    CHECK(percent_text(0, 10) == "0.00 %");
    CHECK(percent_text(10, 10) == "100.00 %");
    CHECK(percent_text(1, 1e9) == "<0.01 %");
    CHECK(percent_text(1e9 - 1, 1e9) == ">99.99 %");
    CHECK(percent_text(1, 3) == "33.33 %");
    CHECK(percent_text(1, 0) == "0 %");
}

TEST_CASE("decimals lose their trailing zeros only") {
    CHECK(short_decimal(100, 4) == "100");
    CHECK(short_decimal(12.5, 4) == "12.5");
    CHECK(short_decimal(0.00001, 4) == "0");
    CHECK(short_decimal(-0.00001, 4) == "0");
}

TEST_CASE("times and sizes have a unit that fits them") {
    CHECK(duration_text(0) == "0 s");  // as the page writes it
    CHECK(duration_text(1'500) == "1.5 µs");
    CHECK(duration_text(41'000'000) == "41 ms");
    CHECK(duration_text(12'345'678'901) == "12.35 s");
    CHECK(duration_text(245'000'000'000) == "4 min 05 s");
    CHECK(duration_text(7'500'000'000'000) == "2 h 05 min");
    CHECK(bytes_text(512) == "512 bytes");
    CHECK(bytes_text(9 << 20) == "9 MiB");
    CHECK(utc_text(1'763'687'412'000'000'000ULL) == "2025-11-21 01:10:12 UTC");
    CHECK(utc_text(951'782'400'000'000'000ULL) == "2000-02-29 00:00:00 UTC");
}

TEST_CASE("a host's locale changes no number") {
    // The German and French locales write 1.5 as 1,5; where none of them is installed only the default is tested.
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"}) {
        if (std::setlocale(LC_NUMERIC, name) != nullptr) break;
    }
    CHECK(short_decimal(1.5, 2) == "1.5");
    CHECK(fixed_text(1.5, 2) == "1.50");
    std::setlocale(LC_NUMERIC, "C");
}

#include "base/number.hpp"

#include <doctest/doctest.h>

using namespace flameprobe;

TEST_CASE("a number is read only if it is the whole text") {
    CHECK(number_in<int>("-12") == -12);
    CHECK(number_in<double>("1.5") == 1.5);
    CHECK(number_in<unsigned>("0") == 0);
    for (const char* bad : {"", " 1", "1 ", "+1", "-1", "0x1", "1.5", "4294967296"}) {
        CAPTURE(bad);
        CHECK_FALSE(number_in<unsigned>(bad));
    }
}

TEST_CASE("a quantity is read only with a known unit and up to the largest accepted value") {
    const auto seconds = [](std::string_view text) {
        return quantity_in(text, {{"ms", 1}, {"s", 1000}, {"", 1000}}, 5000);
    };
    CHECK(seconds("20ms") == 20);
    CHECK(seconds("2s") == 2000);
    CHECK(seconds("5") == 5000);
    CHECK(seconds("0") == 0);
    for (const char* bad : {"", "s", "ms", "6", "5001ms", "2h", "-1s", "2 s", "18446744073709551615s"}) {
        CAPTURE(bad);
        CHECK_FALSE(seconds(bad));
    }
}

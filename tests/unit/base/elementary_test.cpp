#include "base/elementary.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace flameprobe;

TEST_CASE("elementary functions are those of libm") {
    for (double x = 1e-12; x < 40; x *= 1.37) {
        CHECK(exp_minus_1(-x) == doctest::Approx(std::expm1(-x)).epsilon(1e-12));
        CHECK(natural_log(x) == doctest::Approx(std::log(x)).epsilon(1e-12));
        CHECK(rounded(x) == static_cast<std::uint64_t>(std::llround(x)));
    }
    CHECK(exp_minus_1(0) == 0);
    CHECK(exp_minus_1(-1e9) == -1);
    CHECK(natural_log(1) == 0);
}

TEST_CASE("what is no whole number of 64 bits is rounded to an end of them") {
    CHECK(rounded(-3) == 0);
    CHECK(rounded(std::numeric_limits<double>::quiet_NaN()) == 0);
    CHECK(rounded(1e30) == ~std::uint64_t{0});
}

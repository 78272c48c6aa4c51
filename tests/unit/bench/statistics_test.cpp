#include "statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace flameprobe::bench;
using doctest::Approx;

// Expected figures were worked out by hand, with tables of t and of the normal distribution.

TEST_CASE("an interval of Student's t") {
    const Interval interval = interval_of({10, 12, 14, 11});
    CHECK(interval.mean == Approx(11.75));
    REQUIRE(interval.low);
    CHECK(*interval.low == Approx(9.0324).epsilon(0.0001));
    CHECK(*interval.high == Approx(14.4676).epsilon(0.0001));
    CHECK_FALSE(interval_of({10}).low);
    CHECK(interval_of({}).mean == 0);
}

TEST_CASE("values that agree by chance still have the noise of counting") {
    const Interval interval = interval_of({1, 1, 1}, 1.0);
    CHECK(*interval.high == Approx(1 + 4.30265 / std::sqrt(3.0)).epsilon(0.0001));
    CHECK(fit_line({1, 1, 2, 2}, {0, 0, 1, 1}, 0.5).p > 0.2);
}

TEST_CASE("discoveries(): the example of Benjamini and Hochberg's paper") {
    // A table of fifteen p values, of which four are found at 5 %.
    const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    std::size_t found = 0;
    for (const bool one : discoveries(p, 0.05)) found += one ? 1 : 0;
    CHECK(found == 4);
    CHECK(discoveries({}, 0.05).empty());
    CHECK(discoveries({0.9, 0.01}, 0.05) == std::vector<bool>{false, true});
}

TEST_CASE("a fitted line has the error of its slope") {
    const Line line = fit_line({1, 2, 3, 4}, {2.1, 3.9, 6.2, 7.8});
    CHECK(line.slope == Approx(1.94));
    CHECK(line.intercept == Approx(0.15));
    CHECK(*line.error == Approx(0.09055).epsilon(0.001));
    CHECK(line.p == Approx(0.00217).epsilon(0.01));
    CHECK(fit_line({2, 2}, {1, 3}).slope == 0);
}

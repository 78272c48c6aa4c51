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

TEST_CASE("values that agree by chance have the noise of counting all the same") {
    const Interval interval = interval_of({1, 1, 1}, 1.0);
    CHECK(*interval.high == Approx(1 + 4.30265 / std::sqrt(3.0)).epsilon(0.0001));
    CHECK(compare_means({{0, 0, 0}, 0}, {{1, 1, 1}, 1}).p > 0.2);
    CHECK(compare_means({{0, 0, 0}, 0}, {{1, 1, 1}, 0}).p < 0.0001);
    CHECK(fit_line({1, 1, 2, 2}, {0, 0, 1, 1}, 0.5).p > 0.2);
}

TEST_CASE("Welch's test") {
    const Comparison comparison = compare_means({{5, 6, 7, 8}, 0}, {{8, 9, 9, 14}, 0});
    CHECK(comparison.before == Approx(6.5));
    CHECK(comparison.after == Approx(10));
    CHECK(comparison.p == Approx(0.0766).epsilon(0.02));
    CHECK(compare_means({{1}, 0}, {{2, 3}, 0}).p == 1);
    CHECK(compare_means({{2, 2}, 0}, {{2, 2}, 0}).p == 1);
}

TEST_CASE("shares of samples") {
    CHECK(compare_shares(100, 1000, 150, 1000).p == Approx(0.00074).epsilon(0.05));
    CHECK(compare_shares(2, 1000, 6, 1000).p == 1);  // too few to say
    CHECK(compare_shares(1, 0, 1, 10).p == 1);
}

TEST_CASE("Benjamini and Hochberg's own example") {
    // Their paper's table of fifteen: four are found at 5 %.
    const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    std::size_t found = 0;
    for (const bool one : discoveries(p, 0.05)) found += one ? 1 : 0;
    CHECK(found == 4);
    CHECK(discoveries({}, 0.05).empty());
    CHECK(discoveries({0.9, 0.01}, 0.05) == std::vector<bool>{false, true});
}

TEST_CASE("a line with its error") {
    const Line line = fit_line({1, 2, 3, 4}, {2.1, 3.9, 6.2, 7.8});
    CHECK(line.slope == Approx(1.94));
    CHECK(line.intercept == Approx(0.15));
    CHECK(*line.error == Approx(0.09055).epsilon(0.001));
    CHECK(line.p == Approx(0.00217).epsilon(0.01));
    CHECK(fit_line({2, 2}, {1, 3}).slope == 0);
}

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

TEST_CASE("values correlated with the one before give a wider interval of the mean") {
    // Correlation with the next value: 1/6, or 0.381 without the bias of ten values; (1 + 0.381) / (1 - 0.381) = 2.231.
    const Sample before{{2, 2, 1, 1, 2, 3, 2, 3, 3, 1}, 0}, after{{5, 5, 4, 4, 5, 6, 5, 6, 6, 4}, 0};
    const Comparison independent = compare_means(before, after), series = compare_series(before, after);
    CHECK(series.difference == independent.difference);
    CHECK((*series.high - *series.low) / (*independent.high - *independent.low) ==
          Approx(std::sqrt(2.2308)).epsilon(0.001));
    // In another order nothing is correlated, and with three values the correlation is not estimated.
    const Sample mixed{{1, 3, 1, 3, 2, 2, 1, 3, 2, 2}, 0}, mixed_after{{4, 6, 4, 6, 5, 5, 4, 6, 5, 5}, 0};
    CHECK(compare_series(mixed, mixed_after).p == compare_means(mixed, mixed_after).p);
    CHECK(compare_series({{1, 2, 3}, 0}, {{2, 3, 4}, 0}).p == compare_means({{1, 2, 3}, 0}, {{2, 3, 4}, 0}).p);
}

TEST_CASE("pairs are compared by their differences") {
    const Comparison comparison = compare_pairs({10, 20, 30, 40}, {12, 21, 33, 42});
    CHECK(comparison.before == Approx(25));
    CHECK(comparison.after == Approx(27));
    CHECK(comparison.difference == Approx(2));
    CHECK(comparison.p == Approx(0.0163).epsilon(0.01));  // t = 2 / (0.8165 / 2) = 4.899 with three degrees of freedom
    CHECK(compare_pairs({1, 2}, {1, 2}).p == 1);
    CHECK(compare_pairs({1}, {2}).p == 1);
}

TEST_CASE("what a covariate explains is subtracted") {
    const Comparison comparison = compare_adjusted({{2.1, 3.9, 6.0}, 0}, {{5.1, 6.8, 9.1}, 0}, {{1, 2, 3}, {2, 3, 4}});
    CHECK(comparison.before == Approx(4));
    CHECK(comparison.after == Approx(7));
    // The estimated slope is 1.975; the prior is 2.2 (in step), with the precision 1 / 0.25².
    const double told = 1.975 / 2.2, precision = 4 * 2.2 * 2.2 / (0.0475 / 3);
    CHECK(comparison.difference == Approx(3 - 2.2 * (precision * told + 16) / (precision + 16)).epsilon(1e-3));
    CHECK(comparison.change() == Approx(comparison.difference / 4));
    CHECK(comparison.p == Approx(0.0174).epsilon(0.05));
    CHECK((*comparison.low + *comparison.high) / 2 == Approx(comparison.difference));
}

TEST_CASE("a difference that a covariate explains fully is no change") {
    const Comparison comparison = compare_adjusted({{2, 4, 6}, 0}, {{4, 6, 8}, 0}, {{1, 2, 3}, {2, 3, 4}});
    CHECK(comparison.difference == Approx(0));
    CHECK(comparison.p == 1);
}

TEST_CASE("a slope from few runs is combined with the prior of being in step") {
    // Within the sides the slope is hardly known, so 10 % more of the covariate explains nearly 10 % more of the
    // values.
    const std::vector<double> x{99, 101, 101, 99}, y{100, 100, 101, 99}, more_x{109, 111, 111, 109},
        more_y{110, 110, 111, 109};
    const Comparison few = compare_adjusted({y, 4}, {more_y, 4}, {x, more_x});
    CHECK(std::abs(few.difference) < 4);
    CHECK(few.p > 0.01);
    CHECK(compare_means({y, 4}, {more_y, 4}).p < 0.001);
}

TEST_CASE("a covariate that explains nothing changes nothing") {
    const Sample before{{5, 6, 7, 8}, 0}, after{{8, 9, 9, 14}, 0};
    const double p = compare_means(before, after).p;
    // The values clearly fall as the covariate grows, and a negative slope counts as 0.
    CHECK(compare_adjusted(before, after, {{8, 7, 6, 5}, {9, 8, 7, 2}}).difference == Approx(3.5));
    CHECK(compare_adjusted(before, after, {{1, 1, 1, 1}, {1, 1, 1, 1}}).p == p);
    CHECK(compare_adjusted({{1, 2}, 0}, {{2, 3}, 0}, {{1, 2}, {1, 2}}).p == compare_means({{1, 2}, 0}, {{2, 3}, 0}).p);
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

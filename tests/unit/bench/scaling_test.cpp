#include "scaling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace flameprobe::bench;
using doctest::Approx;

namespace {

double usl(double n, double lambda, double sigma, double kappa) {
    return lambda * n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

}  // namespace

TEST_CASE("a fit to figures computed by the law gives its parameters") {
    std::vector<double> n, x;
    for (const double at : {1, 2, 4, 8, 16}) {
        n.push_back(at);
        x.push_back(usl(at, 1000, 0.05, 0.002));
    }
    const ScalingFit fit = fit_usl(n, x);
    REQUIRE(fit.valid);
    CHECK(fit.lambda.value == Approx(1000));
    CHECK(fit.sigma.value == Approx(0.05));
    CHECK(fit.kappa.value == Approx(0.002));
    CHECK(fit.r_squared == Approx(1));
    CHECK(*fit.best_n == Approx(std::sqrt(0.95 / 0.002)));
    for (std::size_t i = 0; i < n.size(); ++i) x[i] = usl(n[i], 50, 0.2, 0);
    CHECK(fit_amdahl(n, x).sigma.value == Approx(0.2));
}

TEST_CASE("95 % intervals hold the true parameters in about 95 % of the trials") {
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0, 0.02);
    int inside = 0, all = 0;
    for (int trial = 0; trial < 400; ++trial) {
        std::vector<double> n, x;
        for (const double at : {1, 2, 4, 8}) {
            for (int repetition = 0; repetition < 3; ++repetition) {
                n.push_back(at);
                x.push_back(usl(at, 1000, 0.08, 0.004) * (1 + noise(random)));
            }
        }
        const ScalingFit fit = fit_usl(n, x);
        REQUIRE(fit.valid);
        inside += *fit.sigma.low <= 0.08 && 0.08 <= *fit.sigma.high ? 1 : 0;
        inside += *fit.kappa.low <= 0.004 && 0.004 <= *fit.kappa.high ? 1 : 0;
        all += 2;
    }
    CHECK(inside > all * 92 / 100);
    CHECK(inside < all * 98 / 100);
}

TEST_CASE("too few values give no fit, but a reason") {
    CHECK(fit_usl({1, 2, 1, 2}, {10, 19, 10, 20}).why_not == "needs 3 different values, and there are 2");
    CHECK(fit_amdahl({1, 1}, {10, 10}).why_not == "needs 2 different values, and there are 1");
    const ScalingFit exact = fit_amdahl({1, 2}, {10, 18});
    REQUIRE(exact.valid);
    CHECK_FALSE(exact.sigma.low);  // two points leave no degree of freedom for an error
}

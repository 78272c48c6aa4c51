// Elementary functions without libm, which a short process would have to load, and whose names (log, for one) a host
// may use for functions of its own.
#pragma once

#include <bit>
#include <cstdint>

namespace flameprobe {

/// The nearest whole number of what is not negative; 0 of what is no number.
constexpr std::uint64_t rounded(double x) {
    constexpr double most = 18446744073709549568.0;  // the largest below 2^64
    return x >= most ? ~std::uint64_t{0} : x > 0 ? static_cast<std::uint64_t>(x + 0.5) : 0;
}

/// e^x - 1, exact for small x too; for x up to 1.
constexpr double exp_minus_1(double x) {
    if (x < -64) return -1;
    int halvings = 0;
    for (; x < -0.25 || x > 0.25; ++halvings) x /= 2;
    double term = x, sum = x;
    for (int n = 2; n <= 12; ++n) sum += term *= x / n;
    for (; halvings > 0; --halvings) sum *= sum + 2;  // (1 + s)^2 - 1
    return sum;
}

/// The natural logarithm of a positive normal number: x = m * 2^e, and log m = 2 artanh((m - 1) / (m + 1)).
constexpr double natural_log(double x) {
    constexpr double log_2 = 0.69314718055994530942;
    constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1, one = std::uint64_t{1023} << 52;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52) - 1023;
    const double m = std::bit_cast<double>((bits & fraction) | one);
    const double t = (m - 1) / (m + 1);
    double power = t, sum = t;
    for (int n = 3; n <= 31; n += 2) sum += (power *= t * t) / n;
    return exponent * log_2 + 2 * sum;
}

}  // namespace flameprobe

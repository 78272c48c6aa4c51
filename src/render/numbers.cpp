#include "render/numbers.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace flameprobe {

namespace {

std::string two_digits(std::uint64_t value) {
    return {static_cast<char>('0' + value / 10 % 10), static_cast<char>('0' + value % 10)};
}

}  // namespace

std::string fixed_text(double value, int decimals) {
    std::array<char, 400> buffer{};  // DBL_MAX has 309 digits
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
    return {buffer.data(), end.ptr};
}

std::string short_decimal(double value, int decimals) {
    std::string text = fixed_text(value, decimals);
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return text == "-0" ? "0" : text;
}

std::string count_text(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string percent_text(double part, double whole) {
    if (whole <= 0) return "0 %";
    const double share = part / whole * 100;
    // A part above 0 must not read as 0 %, nor one below the whole as 100 %.
    if (share > 0 && share < 0.005) return "<0.01 %";
    if (share < 100 && share >= 99.995) return ">99.99 %";
    return fixed_text(share, 2) + " %";
}

std::string round_share(double part, double whole) {
    const double share = whole > 0 ? part / whole * 100 : 0;
    if (share > 0 && share < 0.05) return "<0.1 %";
    if (share < 100 && share >= 99.95) return ">99.9 %";
    return fixed_text(share, 1) + " %";
}

std::string duration_text(std::uint64_t ns) {
    const double seconds = static_cast<double>(ns) / 1e9;
    if (ns == 0) return "0 s";
    if (seconds < 1e-3) return short_decimal(seconds * 1e6, 1) + " µs";
    if (seconds < 1) return short_decimal(seconds * 1e3, 1) + " ms";
    if (seconds < 120) return short_decimal(seconds, 2) + " s";
    const auto whole = static_cast<std::uint64_t>(seconds);
    if (whole < 7200) return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
    return std::to_string(whole / 3600) + " h " + two_digits(whole / 60 % 60) + " min";
}

std::string bytes_text(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes < 1024) return std::to_string(bytes) + " bytes";
    if (bytes < 1024 * 1024) return short_decimal(value / 1024, 1) + " KiB";
    if (bytes < 1024ULL * 1024 * 1024) return short_decimal(value / 1024 / 1024, 1) + " MiB";
    return short_decimal(value / 1024 / 1024 / 1024, 2) + " GiB";
}

std::string utc_text(std::uint64_t unix_ns) {
    using namespace std::chrono;
    const sys_seconds time{seconds{unix_ns / 1'000'000'000}};
    const sys_days day = floor<days>(time);
    const year_month_day date{day};
    const hh_mm_ss clock{time - day};
    const auto number = [](auto part) { return two_digits(static_cast<std::uint64_t>(part)); };
    return std::to_string(static_cast<int>(date.year())) + "-" + number(static_cast<unsigned>(date.month())) + "-" +
           number(static_cast<unsigned>(date.day())) + " " + number(clock.hours().count()) + ":" +
           number(clock.minutes().count()) + ":" + number(clock.seconds().count()) + " UTC";
}

}  // namespace flameprobe

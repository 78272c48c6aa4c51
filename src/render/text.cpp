#include "render/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <utility>

namespace flameprobe {

namespace {

unsigned width(char32_t c) {
    if (c < 0x300) return 1;
    if (c <= 0x36F || (c >= 0x200B && c <= 0x200D) || (c >= 0xFE00 && c <= 0xFE0F)) return 0;
    const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                      (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                      (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
    return wide ? 2 : 1;
}

}  // namespace

void append_xml(std::string& out, std::string_view clean) {
    using Escape = std::pair<char, std::string_view>;
    constexpr std::array escapes = {Escape{'&', "&amp;"}, Escape{'<', "&lt;"}, Escape{'>', "&gt;"},
                                    Escape{'"', "&quot;"}, Escape{'\'', "&#39;"}};
    for (const char& c : clean) {
        const auto escape = std::ranges::find(escapes, c, &Escape::first);
        out += escape == escapes.end() ? std::string_view(&c, 1) : escape->second;
    }
}

std::size_t columns(std::string_view clean) {
    std::size_t count = 0;
    while (!clean.empty()) {
        const CodePoint c = first_code_point(clean);
        count += width(c.value);
        clean.remove_prefix(c.size);
    }
    return count;
}

std::string fit_columns(std::string_view clean, std::size_t room) {
    std::size_t used = 0;
    std::size_t kept_bytes = 0;  // of what fits with the "…" behind it
    std::size_t kept_columns = 0;
    for (std::size_t at = 0; at < clean.size();) {
        const CodePoint c = first_code_point(clean.substr(at));
        used += width(c.value);
        at += c.size;
        if (used + 1 <= room) {
            kept_bytes = at;
            kept_columns = used;
        }
        if (used > room) return kept_columns < 4 ? std::string{} : std::string{clean.substr(0, kept_bytes)} + "…";
    }
    return std::string{clean};
}

std::string shorten(std::string_view clean, std::size_t most) {
    if (clean.size() <= most) return std::string{clean};
    const auto is_tail = [&](std::size_t at) { return (static_cast<unsigned char>(clean[at]) & 0xC0) == 0x80; };
    std::size_t head = most * 3 / 4;
    while (head > 0 && is_tail(head)) --head;
    std::size_t rest = clean.size() - (most - most * 3 / 4);
    while (rest < clean.size() && is_tail(rest)) ++rest;
    return std::string{clean.substr(0, head)} + " … " + std::string{clean.substr(rest)};
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
    std::uint64_t hash = seed;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

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
    const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc)};
}

}  // namespace flameprobe

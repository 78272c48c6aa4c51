#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace flameprobe {

/// In every locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// All of `text` as a number; nullopt if it is no number, or one that the type cannot hold.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

/// A whole number and a unit, such as 30s or 64M: the number times the factor, at most `most`. The first unit counts
/// with which the text ends: "", for no unit, must come last.
inline std::optional<std::uint64_t> quantity_in(std::string_view text, std::initializer_list<Unit> units,
                                                std::uint64_t most) {
    for (const auto& [name, factor] : units) {
        if (!text.ends_with(name)) continue;
        text.remove_suffix(name.size());
        const auto value = number_in<std::uint64_t>(text);
        if (!value || *value > most / factor) return std::nullopt;
        return *value * factor;
    }
    return std::nullopt;
}

}  // namespace flameprobe

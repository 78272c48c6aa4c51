#include "profile/labels.hpp"

#include <algorithm>

namespace flameprobe {

namespace {

bool is_key(std::string_view key) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !key.empty() && letter(key.front()) && !key.starts_with("__") &&
           std::all_of(key.begin(), key.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_value(std::string_view value) {
    constexpr std::size_t most_bytes = 200;
    return !value.empty() && value.size() <= most_bytes && std::none_of(value.begin(), value.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

}  // namespace

std::optional<LabelList> parse_labels(std::string_view text) {
    LabelList labels;
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, end);
        const auto sign = pair.find('=');
        if (sign == pair.npos) return std::nullopt;
        const auto key = pair.substr(0, sign), value = pair.substr(sign + 1);
        const bool known =
            std::any_of(labels.begin(), labels.end(), [&](const auto& label) { return label.first == key; });
        if (known || !is_key(key) || !is_value(value)) return std::nullopt;
        labels.emplace_back(key, value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return labels;
}

}  // namespace flameprobe

// FLAMEPROBE_LABELS: what a profile is filed under.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flameprobe {

inline bool is_label_key(std::string_view key) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !key.empty() && letter(key.front()) && !key.starts_with("__") &&
           std::all_of(key.begin(), key.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

inline bool is_label_value(std::string_view value) {
    constexpr std::size_t most_bytes = 200;
    return !value.empty() && value.size() <= most_bytes && std::none_of(value.begin(), value.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

using LabelList = std::vector<std::pair<std::string, std::string>>;

/// "key=value,key=value": keys as Prometheus has them ([a-zA-Z_][a-zA-Z0-9_]*, not beginning with two underscores),
/// each once; values of 1 to 200 bytes without control characters. Nothing if it is not that.
inline std::optional<LabelList> parse_labels(std::string_view text) {
    LabelList labels;
    while (!text.empty()) {
        const auto end = std::min(text.find(','), text.size());
        const auto pair = text.substr(0, end);
        const auto sign = pair.find('=');
        if (sign == pair.npos) return std::nullopt;
        const auto key = pair.substr(0, sign), value = pair.substr(sign + 1);
        const bool known =
            std::any_of(labels.begin(), labels.end(), [&](const auto& label) { return label.first == key; });
        if (known || !is_label_key(key) || !is_label_value(value)) return std::nullopt;
        labels.emplace_back(key, value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return labels;
}

}  // namespace flameprobe

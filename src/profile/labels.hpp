// FLAMEPROBE_LABELS: what a profile is filed under.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flameprobe {

using LabelList = std::vector<std::pair<std::string, std::string>>;

/// "key=value,key=value": keys as Prometheus has them ([a-zA-Z_][a-zA-Z0-9_]*, not beginning with two underscores),
/// each once; values of 1 to 200 bytes without control characters. Nothing if it is not that.
std::optional<LabelList> parse_labels(std::string_view text);

}  // namespace flameprobe

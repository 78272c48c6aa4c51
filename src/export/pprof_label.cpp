#include "export/pprof_label.hpp"

#include <algorithm>

namespace flameprobe {

namespace {

bool of_a_name(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':' || c == '/' || byte >= 0x80;
}

}  // namespace

std::pair<std::string_view, std::string_view> pprof_label(std::string_view scope) {
    const auto end = scope.find('=');
    if (end == scope.npos || end == 0 || end + 1 == scope.size()) return {"scope", scope};
    const auto key = scope.substr(0, end), value = scope.substr(end + 1);
    const bool is_name = std::all_of(key.begin(), key.end(), of_a_name);
    if (!is_name || value.front() == '=' || key == "thread" || key == "tid" || key == "scope") return {"scope", scope};
    return {key, value};
}

}  // namespace flameprobe

#include "profile/output_format.hpp"

#include <array>
#include <cstddef>

namespace flameprobe {

namespace {

struct OutputFormat {
    Format format;
    std::string_view name;
    std::string_view ending;
    bool all_events;
};

#define FLAMEPROBE_ROW_(value, name, ending, all_events) OutputFormat{Format::value, name, ending, all_events},
constexpr std::array formats = {FLAMEPROBE_FORMATS(FLAMEPROBE_ROW_)};
#undef FLAMEPROBE_ROW_

const OutputFormat& row_of(Format format) { return formats[static_cast<std::size_t>(format)]; }

template <class Part>
std::string list_of(std::string_view separator, Part part) {
    std::string list;
    for (const OutputFormat& known : formats) {
        if (!list.empty()) list += separator;
        list += part(known);
    }
    return list;
}

}  // namespace

std::string format_names(std::string_view separator) {
    return list_of(separator, [](const OutputFormat& f) { return f.name; });
}
std::string format_endings(std::string_view separator) {
    return list_of(separator, [](const OutputFormat& f) { return f.ending; });
}

std::vector<Format> all_formats() {
    std::vector<Format> all;
    for (const OutputFormat& known : formats) all.push_back(known.format);
    return all;
}

Result<Format> format_by_name(std::string_view name) {
    for (const OutputFormat& known : formats)
        if (known.name == name) return known.format;
    return Error{"'" + std::string(name) + "' is no format: use " + format_names()};
}

// The longest ending counts: .speedscope.json is .json too.
Result<Format> format_by_path(std::string_view path) {
    const OutputFormat* best = nullptr;
    for (const OutputFormat& known : formats) {
        if (path.ends_with(known.ending) && (best == nullptr || known.ending.size() > best->ending.size()))
            best = &known;
    }
    if (best != nullptr) return best->format;
    return Error{"the ending of '" + std::string(path) + "' names no format: use " + format_endings()};
}

std::string_view ending_of(Format format) { return row_of(format).ending; }
bool holds_all_events(Format format) { return row_of(format).all_events; }

}  // namespace flameprobe

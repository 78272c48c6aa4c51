#include "profile/output_format.hpp"

#include <algorithm>
#include <array>

namespace flameprobe {

namespace {

struct OutputFormat {
    Format format;
    std::string_view name;
    std::string_view ending;
    bool all_events;  // its writer puts every event into the one file
};

// The only list of formats: those in usage texts and messages are made from it.
constexpr std::array formats = {
    OutputFormat{Format::folded, "folded", ".folded", false},
    OutputFormat{Format::svg, "svg", ".svg", false},
    OutputFormat{Format::html, "html", ".html", true},
    OutputFormat{Format::pprof, "pprof", ".pb.gz", true},
    OutputFormat{Format::speedscope, "speedscope", ".speedscope.json", true},
    OutputFormat{Format::firefox, "firefox", ".firefox.json", true},
    OutputFormat{Format::otlp, "otlp", ".otlp", false},
    OutputFormat{Format::otlp_json, "otlp-json", ".otlp.json", false},
    OutputFormat{Format::json, "json", ".json", true},
};

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

std::string_view ending_of(Format format) {
    for (const OutputFormat& known : formats)
        if (known.format == format) return known.ending;
    return {};
}

bool holds_all_events(Format format) {
    return std::any_of(formats.begin(), formats.end(),
                       [&](const OutputFormat& known) { return known.format == format && known.all_events; });
}

}  // namespace flameprobe

#include "export/output.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include "export/output_file.hpp"

namespace flameprobe {

namespace {

struct OutputFormat {
    Format format;
    std::string_view name;
    std::string_view ending;
    Result<void> (*write)(const NamedProfile&, const OutputOptions&, const ByteSink&);
    bool all_events = true;
};

using Options = const OutputOptions&;

/// A writer that takes no options.
template <void (*write)(const NamedProfile&, const ByteSink&)>
Result<void> plain(const NamedProfile& profile, Options, const ByteSink& out) {
    write(profile, out);
    return {};
}
/// A writer that takes `part` of the options.
template <auto write, auto part>
Result<void> with(const NamedProfile& profile, Options options, const ByteSink& out) {
    if constexpr (std::is_void_v<decltype(write(profile, options.*part, out))>) {
        write(profile, options.*part, out);
        return {};
    } else {
        return write(profile, options.*part, out);
    }
}

// The only list of formats: those in usage texts and messages are made from it.
constexpr std::array formats = {
    OutputFormat{Format::folded, "folded", ".folded", plain<write_folded>, false},
    OutputFormat{Format::svg, "svg", ".svg", with<write_svg, &OutputOptions::graph>, false},
    OutputFormat{Format::html, "html", ".html", with<write_html, &OutputOptions::graph>},
    OutputFormat{Format::pprof, "pprof", ".pb.gz", with<write_pprof, &OutputOptions::engine>},
    OutputFormat{Format::speedscope, "speedscope", ".speedscope.json", plain<write_speedscope>},
    OutputFormat{Format::firefox, "firefox", ".firefox.json", plain<write_firefox>},
    OutputFormat{Format::otlp, "otlp", ".otlp", with<write_otlp, &OutputOptions::engine>, false},
    OutputFormat{Format::otlp_json, "otlp-json", ".otlp.json", with<write_otlp_json, &OutputOptions::engine>, false},
    OutputFormat{Format::json, "json", ".json", plain<write_json_summary>},
};

constexpr const char* too_much =
    "it would be too large; make it of a part: flameprobe-render with --thread, --scope, --focus or --from and --to";

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

Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options) {
    const bool has_samples =
        std::any_of(profile.counts.begin(), profile.counts.end(), [](const NamedCount& c) { return c.weight > 0; });
    if (!has_samples) return Error{path + ": not written: the profile has no samples"};
    try {
        OutputFile file(path);
        if (!file.failed()) {
            const auto known =
                std::find_if(formats.begin(), formats.end(), [&](const OutputFormat& f) { return f.format == format; });
            std::uint64_t left = options.most_bytes;
            const Result<void> written = known->write(profile, options, [&](std::string_view text) {
                if (text.size() > left) throw std::length_error(too_much);
                left -= text.size();
                file.write(text);
            });
            if (!written) return Error{path + ": not written: " + written.error().message};
        }
        return file.commit();
    } catch (const std::exception& error) {
        return Error{path + ": not written: " + error.what()};
    }
}

}  // namespace flameprobe

#include "export/output.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "export/output_file.hpp"

namespace flameprobe {

namespace {

struct FormatName {
    Format format;
    std::string_view name;
    std::string_view ending;
};

// Longer endings before those they end in: .speedscope.json is .json too.
constexpr std::array format_names = {
    FormatName{Format::folded, "folded", ".folded"},
    FormatName{Format::svg, "svg", ".svg"},
    FormatName{Format::html, "html", ".html"},
    FormatName{Format::pprof, "pprof", ".pb.gz"},
    FormatName{Format::speedscope, "speedscope", ".speedscope.json"},
    FormatName{Format::firefox, "firefox", ".firefox.json"},
    FormatName{Format::json, "json", ".json"},
};

template <class Part>
std::string list_of(Part&& part) {
    std::string list;
    for (const FormatName& known : format_names) {
        if (!list.empty()) list += ", ";
        list += part(known);
    }
    return list;
}

Result<void> write_format(const NamedProfile& profile, Format format, const OutputOptions& options,
                          const ByteSink& out) {
    switch (format) {
        case Format::folded:
            write_folded(profile, out);
            return {};
        case Format::svg:
            return write_svg(profile, options.graph, out);
        case Format::html:
            return write_html(profile, options.graph, out);
        case Format::pprof:
            write_pprof(profile, options.pprof, out);
            return {};
        case Format::speedscope:
            write_speedscope(profile, out);
            return {};
        case Format::firefox:
            write_firefox(profile, out);
            return {};
        case Format::json:
            write_json_summary(profile, out);
            return {};
    }
    return Error{"unknown format"};
}

}  // namespace

Result<Format> format_by_name(std::string_view name) {
    for (const FormatName& known : format_names)
        if (known.name == name) return known.format;
    return Error{"'" + std::string(name) + "' is no format: use " + list_of([](auto& f) { return f.name; })};
}

Result<Format> format_by_path(std::string_view path) {
    for (const FormatName& known : format_names)
        if (path.ends_with(known.ending)) return known.format;
    return Error{"the ending of '" + std::string(path) + "' names no format: use " +
                 list_of([](auto& f) { return f.ending; })};
}

std::string_view ending_of(Format format) {
    for (const FormatName& known : format_names)
        if (known.format == format) return known.ending;
    return {};
}

Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options) {
    const bool has_samples =
        std::any_of(profile.counts.begin(), profile.counts.end(), [](const NamedCount& c) { return c.weight > 0; });
    if (!has_samples) return Error{path + ": not written: the profile has no samples"};
    try {
        OutputFile file(path);
        if (!file.failed()) {
            const Result<void> written =
                write_format(profile, format, options, [&file](std::string_view text) { file.write(text); });
            if (!written) return Error{path + ": not written: " + written.error().message};
        }
        return file.commit();
    } catch (const std::exception& error) {
        return Error{path + ": not written: " + error.what()};
    }
}

}  // namespace flameprobe

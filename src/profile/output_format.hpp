// The list of output formats. It is in src/profile, not in src/export, since the recorder reads FLAMEPROBE_FORMAT.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

/// The only list of formats: a value, its name, its ending, and whether one file holds all events of a profile. From it
/// follow the enum, what users may type, usage, messages, and what write_output() calls: write_VALUE
/// (export/output.hpp).
#define FLAMEPROBE_FORMATS(FORMAT)                             \
    FORMAT(folded, "folded", ".folded", false)                 \
    FORMAT(svg, "svg", ".svg", false)                          \
    FORMAT(html, "html", ".html", true)                        \
    FORMAT(pprof, "pprof", ".pb.gz", true)                     \
    FORMAT(speedscope, "speedscope", ".speedscope.json", true) \
    FORMAT(firefox, "firefox", ".firefox.json", true)          \
    FORMAT(otlp, "otlp", ".otlp", false)                       \
    FORMAT(otlp_json, "otlp-json", ".otlp.json", false)        \
    FORMAT(json, "json", ".json", true)

#define FLAMEPROBE_VALUE_(value, name, ending, all_events) value,
enum class Format { FLAMEPROBE_FORMATS(FLAMEPROBE_VALUE_) };
#undef FLAMEPROBE_VALUE_

/// The names and endings of all formats, as a user types them: "folded, svg, ..." and ".folded, .svg, ...".
std::string format_names(std::string_view separator = ", ");
std::string format_endings(std::string_view separator = ", ");
std::vector<Format> all_formats();

/// The format that FLAMEPROBE_FORMAT and --format call `name`; the Error for another name lists the accepted ones.
Result<Format> format_by_name(std::string_view name);
/// The format of the path's ending.
Result<Format> format_by_path(std::string_view path);
std::string_view ending_of(Format format);  // with the dot
/// Whether one file holds all events of a profile; in other formats each event has a file of its own.
bool holds_all_events(Format format);

}  // namespace flameprobe

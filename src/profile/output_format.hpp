// The names of what can be made of a profile, here since the recorder reads FLAMEPROBE_FORMAT. Their writers:
// export/output.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

enum class Format { folded, svg, html, pprof, speedscope, firefox, otlp, otlp_json, json };

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

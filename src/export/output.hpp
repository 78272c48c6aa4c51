// From an output path to the writer it asks for; written under a temporary name and renamed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "export/writer.hpp"
#include "render/flame_graph.hpp"

namespace flameprobe {

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

struct OutputOptions {
    FlameGraphOptions graph;
    EngineOptions engine;
};

/// Writes `profile` to `path`. An existing file stays as it is unless the new one is whole: a full disk, or a profile
/// without samples, is an Error and leaves nothing behind. "-" is stdout; devices and pipes are written in place.
Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options);

}  // namespace flameprobe

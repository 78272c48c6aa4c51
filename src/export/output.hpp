// The writers of the formats: their output depends on the profile and the options alone. write_output() calls the one
// that is asked for; a file has a temporary name until it is whole.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "export/sample_labels.hpp"
#include "outside/byte_stream.hpp"
#include "profile/output_format.hpp"
#include "render/flame_graph.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

// A new format: its row in profile/output_format.hpp, its writer's declaration here, a file, and that in meson.build.
// SVG and HTML are declared in render/flame_graph.hpp.

void write_folded(const NamedProfile& profile, const ByteSink& out);
/// Options of the formats that are for servers (Pyroscope, Parca, ...), which store the profiles of many processes.
struct ServerOptions {
    ThreadLabels threads = ThreadLabels::none;
    /// Labels of the whole profile: service_name, version, ... In OTLP attributes of the resource, in pprof comments.
    std::vector<std::pair<std::string, std::string>> labels = {};
    /// Whether pprof has the command line as a comment: other users of a server may not be allowed to see it.
    bool command = true;
};
/// gzip'ed protobuf
void write_pprof(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out);
void write_otlp(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out);  // protobuf
void write_otlp_json(const NamedProfile& profile, const ServerOptions& options, const ByteSink& out);
void write_speedscope(const NamedProfile& profile, const ByteSink& out);
void write_firefox(const NamedProfile& profile, const ByteSink& out);
void write_json(const NamedProfile& profile, const ByteSink& out);

struct OutputOptions {
    FlameGraphOptions graph;
    ServerOptions server;
    /// A small profile may stand for much text, as each line of folded text repeats its stack.
    std::uint64_t most_bytes = std::uint64_t{1} << 30;
};

/// Writes `profile` to `path`. An existing file stays as it is unless the new one is whole: a full disk, a profile
/// without samples, or more text than `most_bytes` is an Error and leaves nothing behind. "-" is stdout; devices and
/// pipes are written in place.
Result<void> write_output(const NamedProfile& profile, Format format, const std::string& path,
                          const OutputOptions& options);

/// One fact a line, always in the same order and free of locale; a key may come several times (build id). Made from the
/// profile alone, so that it is the same on every machine. Empty for a profile without a run.
std::string provenance_text(const NamedProfile& profile);

}  // namespace flameprobe

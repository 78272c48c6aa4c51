// Writers of other tools' formats. Their output depends on the profile alone.
#pragma once

#include "base/byte_sink.hpp"
#include "export/sample_labels.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A new format needs its value and its writer here, its row in output.cpp, and a file. SVG and HTML:
/// render/flame_graph.hpp.
enum class Format { folded, svg, html, pprof, speedscope, firefox, otlp, otlp_json, json };

void write_folded(const NamedProfile& profile, const ByteSink& out);
/// Options of the formats that are for engines (Pyroscope, Parca, ...), which store the profiles of many processes.
struct EngineOptions {
    ThreadLabels threads = ThreadLabels::none;
    /// Labels of the whole profile: service_name, version, ... In OTLP attributes of the resource, in pprof comments.
    std::vector<std::pair<std::string, std::string>> labels = {};
    /// Whether pprof has the command line as a comment: other users of an engine may not be allowed to see it.
    bool command = true;
};
/// gzip'ed protobuf
void write_pprof(const NamedProfile& profile, const EngineOptions& options, const ByteSink& out);
void write_otlp(const NamedProfile& profile, const EngineOptions& options, const ByteSink& out);  // protobuf
void write_otlp_json(const NamedProfile& profile, const EngineOptions& options, const ByteSink& out);
void write_speedscope(const NamedProfile& profile, const ByteSink& out);
void write_firefox(const NamedProfile& profile, const ByteSink& out);
void write_json_summary(const NamedProfile& profile, const ByteSink& out);

}  // namespace flameprobe

// The formats other tools read. All are deterministic, and none needs more than the profile itself.
#pragma once

#include "base/byte_sink.hpp"
#include "export/sample_labels.hpp"
#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// A new one: its value and writer here, its row in output.cpp, its file. SVG and HTML: render/flame_graph.hpp.
enum class Format { folded, svg, html, pprof, speedscope, firefox, otlp, otlp_json, json };

void write_folded(const NamedProfile& profile, const ByteSink& out);
/// For the formats of engines that keep the profiles of many processes.
struct EngineOptions {
    ThreadLabels threads = ThreadLabels::none;
    /// Of the whole profile: service_name, version, ... OTLP: attributes of the resource; pprof: comments.
    std::vector<std::pair<std::string, std::string>> labels = {};
    /// pprof: a comment has the command line, which may hold what other users of an engine must not see.
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

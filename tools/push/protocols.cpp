#include "protocols.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/binary_text.hpp"
#include "base/clock.hpp"
#include "export/gzip.hpp"
#include "export/output.hpp"
#include "export/profile_tables.hpp"
#include "protobuf_fields.hpp"

namespace flameprobe::push {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// From the last four bytes of the gzip stream (RFC 1952), so modulo 2^32.
std::size_t uncompressed_size(std::string_view gzip) {
    std::size_t size = 0;
    for (std::size_t i = 1; i <= 4 && i <= gzip.size(); ++i)
        size = size << 8 | static_cast<unsigned char>(gzip[gzip.size() - i]);
    return size;
}

std::string pprof_of(const NamedProfile& profile, const ServerOptions& options) {
    std::string bytes;
    write_pprof(profile, options, [&bytes](std::string_view piece) { bytes += piece; });
    return bytes;
}

std::string gzipped_otlp(const NamedProfile& profile, const ServerOptions& options) {
    std::string bytes;
    const ByteSink into = [&bytes](std::string_view piece) { bytes += piece; };
    GzipStream gzip(into);
    write_otlp(profile, options, [&gzip](std::string_view piece) { gzip.write(piece); });
    gzip.finish();
    return bytes;
}

/// The name under which Pyroscope and Parca store a profile: process_cpu for CPU time, as their own agents call it.
std::string series_name(const NamedProfile& profile) {
    const std::string type = values_of(profile).of_sample.back().type;
    return type == "cpu" ? "process_cpu" : type;
}

/// Pyroscope 2.x: a name with labels, the time in seconds, and the pprof as a part of a form, with a description of a
/// type other than cpu, which Pyroscope would store as CPU time. With format=pprof it would take the whole form for a
/// pprof.
Request for_pyroscope(const NamedProfile& profile, const ServerOptions& options, const std::string& to) {
    std::string name, service;
    for (const auto& [key, value] : options.labels) {
        if (key == "service_name")
            service = value;
        else
            name += (name.empty() ? "" : ",") + key + '=' + value;
    }
    name = service + '{' + name + '}';
    const std::uint64_t from = profile.run.start_unix_ns;
    const std::uint64_t until = from + std::max(profile.summary.duration_ns, ns_per_second);
    const std::string boundary = "flameprobe-0f2c4b7a9d3e5f61";
    const auto part = [&](const std::string& part_name, const std::string& content) {
        return "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + part_name + "\"; filename=\"" +
               part_name + "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + content + "\r\n";
    };
    const std::string pprof = pprof_of(profile, options);
    Request request;
    request.profile_bytes = uncompressed_size(pprof);
    request.url = with_path(to, "/ingest") + "?spyName=flameprobe&name=" + percent_encoded(name) +
                  "&from=" + std::to_string(from / ns_per_second) + "&until=" + std::to_string(until / ns_per_second);
    request.headers = {"Content-Type: multipart/form-data; boundary=" + boundary};
    request.body = part("profile", pprof);
    const ProfileValue value = values_of(profile).of_sample.back();
    if (value.type != "cpu") {
        const Json types = {
            {value.type,
             {{"units", value.unit}, {"display-name", value.type}, {"aggregation", "sum"}, {"sampled", false}}}};
        request.body += part("sample_type_config", dump(types));
    }
    request.body += "--" + boundary + "--\r\n";
    return request;
}

/// parca.profilestore.v1alpha1.WriteRaw by its HTTP gateway, below /api: elsewhere Parca answers any POST with its
/// page.
Request for_parca(const NamedProfile& profile, const ServerOptions& options, const std::string& to) {
    Json labels = Json::array({{{"name", "__name__"}, {"value", series_name(profile)}}});
    for (const auto& [key, value] : options.labels) labels.push_back({{"name", key}, {"value", value}});
    const std::string pprof = pprof_of(profile, options);
    const Json body = {{"series", {{{"labels", {{"labels", labels}}}, {"samples", {{{"rawProfile", base64(pprof)}}}}}}},
                       {"normalized", false}};
    return {with_path(to, "/api/profiles/writeraw"),
            {"Content-Type: application/json"},
            dump(body),
            uncompressed_size(pprof)};
}

}  // namespace

Request request_for(const NamedProfile& profile, const ServerOptions& options, const Settings& settings) {
    if (settings.protocol == Protocol::pyroscope) return for_pyroscope(profile, options, settings.to);
    if (settings.protocol == Protocol::parca) return for_parca(profile, options, settings.to);
    Request request;
    if (settings.protocol == Protocol::otlp) {
        request.url = with_path(settings.to, otlp_path);
        request.headers = {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"};
        request.body = gzipped_otlp(profile, options);
    } else {
        request.url = settings.to;
        request.headers = {"Content-Type: application/octet-stream"};
        request.body = pprof_of(profile, options);
    }
    request.profile_bytes = uncompressed_size(request.body);
    return request;
}

namespace {

bool has_any(std::string_view text, const auto& words) {
    for (const std::string_view word : words)
        if (text.find(word) != text.npos) return true;
    return false;
}

/// Whether the text has a gRPC code of a temporary failure, as connect and grpc-gateway write it.
bool is_passing(std::string_view text) {
    constexpr std::array<std::string_view, 7> words = {"unavailable", "Unavailable",       "aborted",  "Aborted",
                                                       "canceled",    "deadline_exceeded", "not ready"};
    return has_any(text, words);
}

bool is_known_already(std::string_view text) {
    constexpr std::array<std::string_view, 4> words = {"already_exists", "AlreadyExists", "already exists",
                                                       "duplicate"};
    return has_any(text, words);
}

}  // namespace

std::string rejection_in(std::string_view response) {
    std::uint64_t rejected = 0;
    std::string why;
    each_field(std::as_bytes(std::span(response)), [&](std::uint64_t number, std::uint64_t, auto partial_success) {
        if (number != 1) return;
        each_field(partial_success, [&](std::uint64_t inner, std::uint64_t value, auto text) {
            if (inner == 1) rejected = value;
            if (inner == 2) why.assign(reinterpret_cast<const char*>(text.data()), text.size());
        });
    });
    return rejected == 0 ? "" : std::to_string(rejected) + " profiles rejected: " + why;
}

Verdict verdict_of(const Answer& answer, Protocol protocol) {
    const long status = answer.status;
    if (status >= 200 && status < 300) {
        const bool page = protocol != Protocol::pprof_http && answer.text.starts_with('<');
        if (page) return Verdict::refused;
        const bool rejected = protocol == Protocol::otlp && !rejection_in(answer.text).empty();
        return rejected ? Verdict::refused : Verdict::accepted;
    }
    if (status == 413) return Verdict::too_large;
    if (status == 409 && is_known_already(answer.text)) return Verdict::accepted;
    if ((status == 409 || status == 422) && is_passing(answer.text)) return Verdict::later;
    const bool passing = status == 408 || status == 425 || status == 429 || status == 499 || status >= 500;
    return status == 0 || passing ? Verdict::later : Verdict::refused;
}

}  // namespace flameprobe::push

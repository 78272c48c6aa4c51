#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "export/output.hpp"

namespace flameprobe::push {

enum class Protocol { pprof_http, pyroscope, otlp, parca };

using Labels = std::vector<std::pair<std::string, std::string>>;

/// What `flameprobe push` was told; documented in docs/fleet.md.
struct Settings {
    std::string spool;
    std::string to;
    Protocol protocol = Protocol::pprof_http;
    Labels labels;
    ThreadLabels threads = ThreadLabels::none;
    bool status = false;       // print counts and end
    bool once = false;         // end when nothing is left to send, with 1 if something could not be
    bool other_users = false;  // take other users' profiles
    bool help = false;
    std::string token_file, user_file, ca_file, certificate_file, key_file, tenant;
    std::uint64_t most_bytes = std::uint64_t{256} << 20;
    std::chrono::seconds most_age{3600};
    std::uint64_t most_request_bytes = 0;  // of a profile in one request, uncompressed; parse() gives the protocol's
    std::optional<std::uint16_t> metrics_port;  // on loopback; 0: a free one
    std::string metrics_to;                     // OTLP metrics to this URL; empty: none
    bool metrics_to_is_guessed = false;         // it was made from `to`
    std::chrono::milliseconds timeout{30'000};
    std::chrono::milliseconds gather{15'000};  // from one look into the spool to the next: what came is merged
    std::chrono::milliseconds first_wait{1'000}, longest_wait{60'000};  // between tries
};

/// Where OTLP's receivers take profiles, below their address.
inline constexpr const char* otlp_path = "/v1development/profiles";

/// `url` with `path` at its end, unless it ends so already.
std::string with_path(std::string url, const std::string& path);

/// argv[0] is "push". An Error is wrong usage.
Result<Settings> parse(int argc, char* argv[]);

extern const char* const usage;

}  // namespace flameprobe::push
